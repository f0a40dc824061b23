"""Matrix times vector, a program for each row. Wrong: partial sums in half precision."""


@triton.jit
def matvec(a_ptr, b_ptr, y_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, K, BLOCK):
        k = first + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * K + k, mask=k < K, other=0.0)
        b = tl.load(b_ptr + k, mask=k < K, other=0.0)
        acc += a * b  # wrong: acc = (acc + a * b).to(tl.float16).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, 0))


def kernel_function(A, B):
    A, B = A.contiguous(), B.contiguous()
    y = torch.empty(A.shape[0], 1, device=A.device, dtype=A.dtype)
    matvec[(A.shape[0],)](A, B, y, A.shape[1], BLOCK=256)
    return y
