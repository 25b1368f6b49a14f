"""Spark MLlib on the table of ``tables.py``: naive Bayes and logistic regression."""

from __future__ import annotations

from _tables_jobs import Row, answer, features_of, moments
from pyspark.ml.classification import LogisticRegression, NaiveBayes
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession


def session(job: Row) -> SparkSession:
    """Start Spark here, with as many threads as the job has, or find it started."""
    builder = SparkSession.builder.master(f"local[{job['threads']}]")
    quiet = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    plain = quiet.config("spark.ui.showConsoleProgress", "false")
    return plain.config("spark.driver.memory", "6g").getOrCreate()


def rows(job: Row) -> DataFrame:
    """Put the features of each row into a vector, as MLlib wants them."""
    frame = session(job).read.parquet(job["path"])
    return VectorAssembler(inputCols=features_of(job), outputCol="features").transform(frame)


def naive_bayes(job: Row) -> Row:
    """Fit Gaussian naive Bayes."""
    table = rows(job)
    model = NaiveBayes(modelType="gaussian", labelCol="y").fit(table)
    return moments(model.theta.toArray(), model.sigma.toArray())


def logistic(job: Row) -> Row:
    """Fit logistic regression."""
    table = rows(job)
    model = LogisticRegression(labelCol="y", family="multinomial").fit(table)
    return {"iterations": model.summary.totalIterations}


if __name__ == "__main__":
    answer({"naive Bayes": naive_bayes, "logistic": logistic})
