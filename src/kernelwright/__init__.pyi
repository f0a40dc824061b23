from kernelwright.api.model import Model as Model
from kernelwright.api.run import open_run as open_run
from kernelwright.api.search import optimize as optimize
from kernelwright.api.search import optimize_all as optimize_all
from kernelwright.api.search import tune as tune
from kernelwright.api.verbs import bench as bench
from kernelwright.api.verbs import check as check
from kernelwright.api.verbs import export as export
from kernelwright.api.verbs import profile as profile
from kernelwright.api.verbs import verify as verify
from kernelwright.api.verbs import verify_all as verify_all
from kernelwright.problems.problem import Problem as Problem

__version__: str
API: dict[str, str]
