# The public names of the lobby, written once: type checkers read this file, and so does `_lazy`.
# What comes from `credo` itself are the rooms.

from credo import (
    classifiers as classifiers,
    decisions as decisions,
    exceptions as exceptions,
    families as families,
    formats as formats,
    graphs as graphs,
    images as images,
    inference as inference,
    plots as plots,
    posterior as posterior,
    storage as storage,
    tables as tables,
)
from credo._version import __version__ as __version__
from credo.classifiers import (
    ClassSummary as ClassSummary,
    DecisionClassifier as DecisionClassifier,
    GaussianClassifier as GaussianClassifier,
    GaussianRegressor as GaussianRegressor,
    LogisticClassifier as LogisticClassifier,
    MixtureClassifier as MixtureClassifier,
    NaiveBayes as NaiveBayes,
    TextClassifier as TextClassifier,
    compare_generative_discriminative as compare_generative_discriminative,
    count_parameters as count_parameters,
    expected_loss_scorer as expected_loss_scorer,
    summarise as summarise,
)
from credo.decisions import (
    Decisions as Decisions,
    Loss as Loss,
    decide as decide,
    decide_value as decide_value,
)
from credo.formats import (
    read_bif as read_bif,
    read_network as read_network,
    write_network as write_network,
)
from credo.graphs import (
    BayesianNetwork as BayesianNetwork,
    FactorGraph as FactorGraph,
    GridField as GridField,
    MarkovNetwork as MarkovNetwork,
    chain as chain,
)
from credo.images import (
    add_noise as add_noise,
    denoise as denoise,
    segment as segment,
)
from credo.inference import (
    JunctionTree as JunctionTree,
    bounds as bounds,
    explain as explain,
    infer as infer,
    infer_grid as infer_grid,
    infer_many as infer_many,
    k_best as k_best,
    marginal_map as marginal_map,
    max_marginals as max_marginals,
    mpe as mpe,
    pass_messages as pass_messages,
    plan as plan,
)
from credo.posterior import (
    JointTable as JointTable,
    Posterior as Posterior,
    PosteriorMap as PosteriorMap,
    PriorEstimate as PriorEstimate,
)
from credo.storage import load as load
from credo.tables import (
    evaluate_table as evaluate_table,
    fit_table as fit_table,
    predict_table as predict_table,
    update_table as update_table,
)
