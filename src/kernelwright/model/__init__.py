"""Frozen records that are passed between the parts of kernelwright. They are pure data, and this package imports no
other part.

Times are microseconds (`_us`), sizes bytes, ratios fractions. `None` means absent, never zero. Each subject has one
file; other packages import from here, so that a record may move to another file.
"""

from kernelwright.model.base import LibraryMode, Record, Scalar
from kernelwright.model.bench import (
    FRAMEWORK,
    BenchCase,
    BenchReport,
    BenchSeries,
    GateCase,
    GateReport,
    Implementation,
)
from kernelwright.model.call import (
    PROTOCOL,
    BenchCandidates,
    Call,
    Close,
    CompileCandidate,
    DescribeEnvironment,
    DescribeMachine,
    EvaluateCandidate,
    FromWorker,
    GenerateText,
    Hello,
    LoadProblem,
    Ping,
    ProfileCandidate,
    ProfileFramework,
    QualifyProblem,
    Raised,
    Returned,
    ToWorker,
)
from kernelwright.model.clocks import Clocks, clocks_over
from kernelwright.model.diagnosis import Diagnosis, Evidence, Finding, Limit
from kernelwright.model.evaluation import (
    LEFT_OUT,
    NEVER_EXERCISED,
    RAISES,
    CaseResult,
    Evaluation,
    KernelResources,
    LibraryShare,
    Property,
    ShownBy,
    Status,
    Timing,
)
from kernelwright.model.generated import (
    Alias,
    Allocation,
    Capture,
    Generated,
    Items,
    Launch,
    LibraryCall,
    Sizes,
    Step,
    Structure,
    StructureCall,
    Tiles,
    TritonKernel,
    Unknown,
    View,
    Zeros,
)
from kernelwright.model.machine import Attempt, Environment, LaneChange, Machine
from kernelwright.model.problem import (
    AS_KEPT,
    FOR_INTERPRETER,
    Bound,
    Case,
    CaseFacts,
    CaseInfo,
    Loading,
    OperatorKind,
    ProblemInfo,
    StatedBySet,
    TensorRead,
    TensorSpec,
    WhichCases,
    bits,
    dense_stride,
    titled,
)
from kernelwright.model.profile import Counter, LaunchProfile, Profile
from kernelwright.model.proposal import (
    KNOWN,
    Answered,
    Candidate,
    Claim,
    Exchange,
    Operator,
    Proposal,
    Reflection,
    Request,
    Usage,
    sum_of,
)
from kernelwright.model.qualification import CaseQualification, Drawn, QualificationReport, TrivialAnswer
from kernelwright.model.run import (
    BUDGET_LIMITS,
    SWITCHES,
    Budget,
    BudgetLimit,
    KnownKernel,
    OptimizeOptions,
    RunInfo,
    RunOptions,
    RunSettings,
    SeriesOptions,
)
from kernelwright.model.trial import Incumbent, Trial, incumbent_of, may_lead
from kernelwright.model.whole import Baseline, LeastWork, ModelSurvey, Part, PartCase, PartKind
