# The public names of the tables, written once: type checkers read this file, and so does `_lazy`.

from credo.classifiers.schema import ColumnSpec as ColumnSpec, TableSchema as TableSchema
from credo.tables.answers import (
    infer_partitions as infer_partitions,
    predict_partitions as predict_partitions,
)
from credo.tables.dask import DaskEngine as DaskEngine
from credo.tables.evaluate import (
    TableEvaluation as TableEvaluation,
    evaluate_table as evaluate_table,
)
from credo.tables.fit import (
    fit_table as fit_table,
    merge_models as merge_models,
    update_table as update_table,
)
from credo.tables.passes import TableJob as TableJob
from credo.tables.predict import predict_table as predict_table, score_batch as score_batch
from credo.tables.sink import Sink as Sink, open_sink as open_sink
from credo.tables.source import Part as Part, Source as Source, open_source as open_source
from credo.tables.spark import SparkEngine as SparkEngine
