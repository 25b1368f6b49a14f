"""Tables of any size: reading them, learning from them, scoring them, on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.classifiers.table_schema import (
        ColumnSpec as ColumnSpec,
        TableSchema as TableSchema,
    )
    from credo.tables.dask_engine import DaskEngine as DaskEngine
    from credo.tables.engine_frames import (
        infer_partitions as infer_partitions,
        predict_partitions as predict_partitions,
    )
    from credo.tables.evaluation.evaluating import evaluate_table as evaluate_table
    from credo.tables.evaluation.result import TableEvaluation as TableEvaluation
    from credo.tables.fitting import (
        FitJob as FitJob,
        fit_table as fit_table,
        update_table as update_table,
    )
    from credo.tables.merging import merge_models as merge_models
    from credo.tables.scoring import predict_table as predict_table, score_batch as score_batch
    from credo.tables.sink import Sink as Sink, open_sink as open_sink
    from credo.tables.source import (
        Part as Part,
        Source as Source,
        open_source as open_source,
    )
    from credo.tables.spark_engine import SparkEngine as SparkEngine

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.classifiers.table_schema": ["ColumnSpec", "TableSchema"],
        "credo.tables.dask_engine": ["DaskEngine"],
        "credo.tables.engine_frames": ["infer_partitions", "predict_partitions"],
        "credo.tables.evaluation.evaluating": ["evaluate_table"],
        "credo.tables.evaluation.result": ["TableEvaluation"],
        "credo.tables.fitting": ["FitJob", "fit_table", "update_table"],
        "credo.tables.merging": ["merge_models"],
        "credo.tables.scoring": ["predict_table", "score_batch"],
        "credo.tables.sink": ["Sink", "open_sink"],
        "credo.tables.source": ["Part", "Source", "open_source"],
        "credo.tables.spark_engine": ["SparkEngine"],
    },
)
