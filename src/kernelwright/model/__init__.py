"""The nouns: frozen records that pass between the parts. Pure data; imports nothing of ours.

Times are microseconds (`_us`), sizes bytes, ratios fractions. `None` means absent, never zero. One file per subject;
everybody else imports from here, so that a record may move.
"""

from kernelwright.model.base import LibraryMode, Record, Scalar
from kernelwright.model.bench import FRAMEWORK, BenchCase, BenchReport, BenchSeries, Implementation
from kernelwright.model.clocks import Clocks, clocks_over
from kernelwright.model.diagnosis import Diagnosis, Evidence, Finding, Limit
from kernelwright.model.evaluation import (
    CaseResult,
    Evaluation,
    KernelResources,
    LibraryShare,
    Property,
    Status,
    Timing,
)
from kernelwright.model.machine import Attempt, Environment, Machine
from kernelwright.model.problem import (
    Bound,
    Case,
    CaseInfo,
    ProblemInfo,
    StatedBySet,
    TensorRead,
    TensorSpec,
    WhichCases,
)
from kernelwright.model.profile import Counter, LaunchProfile, Profile
from kernelwright.model.proposal import (
    Answered,
    Candidate,
    Claim,
    Exchange,
    Operator,
    Proposal,
    Reflection,
    Request,
    Usage,
)
from kernelwright.model.qualification import CaseQualification, QualificationReport, TrivialAnswer
from kernelwright.model.run import BUDGET_LIMITS, Budget, BudgetLimit, RunInfo, RunSettings
from kernelwright.model.trial import Incumbent, Trial, incumbent_of

__all__ = [
    "BUDGET_LIMITS",
    "FRAMEWORK",
    "Answered",
    "Attempt",
    "BenchCase",
    "BenchReport",
    "BenchSeries",
    "Bound",
    "Budget",
    "BudgetLimit",
    "Candidate",
    "Case",
    "CaseInfo",
    "CaseQualification",
    "CaseResult",
    "Claim",
    "Clocks",
    "Counter",
    "Diagnosis",
    "Environment",
    "Evaluation",
    "Evidence",
    "Exchange",
    "Finding",
    "Implementation",
    "Incumbent",
    "KernelResources",
    "LaunchProfile",
    "LibraryMode",
    "LibraryShare",
    "Limit",
    "Machine",
    "Operator",
    "ProblemInfo",
    "Profile",
    "Property",
    "Proposal",
    "QualificationReport",
    "Record",
    "Reflection",
    "Request",
    "RunInfo",
    "RunSettings",
    "Scalar",
    "StatedBySet",
    "Status",
    "TensorRead",
    "TensorSpec",
    "Timing",
    "Trial",
    "TrivialAnswer",
    "Usage",
    "WhichCases",
    "clocks_over",
    "incumbent_of",
]
