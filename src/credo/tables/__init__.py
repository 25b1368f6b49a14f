"""Tables of any size: reading them, learning from them, scoring them, on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.classifiers.schema import (
        ColumnSpec as ColumnSpec,
        TableSchema as TableSchema,
    )
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
    from credo.tables.source import (
        Part as Part,
        Source as Source,
        open_source as open_source,
    )
    from credo.tables.spark import SparkEngine as SparkEngine

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.classifiers.schema": ["ColumnSpec", "TableSchema"],
        "credo.tables.answers": ["infer_partitions", "predict_partitions"],
        "credo.tables.dask": ["DaskEngine"],
        "credo.tables.evaluate": ["TableEvaluation", "evaluate_table"],
        "credo.tables.fit": ["fit_table", "merge_models", "update_table"],
        "credo.tables.passes": ["TableJob"],
        "credo.tables.predict": ["predict_table", "score_batch"],
        "credo.tables.sink": ["Sink", "open_sink"],
        "credo.tables.source": ["Part", "Source", "open_source"],
        "credo.tables.spark": ["SparkEngine"],
    },
)
