"""Diagonal matrix times a matrix. Wrong: columns are scaled instead of rows."""


@triton.jit
def scale_rows(a_ptr, b_ptr, y_ptr, N, M, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < N * M
    a = tl.load(a_ptr + place // M, mask=inside)  # wrong: a = tl.load(a_ptr + place % M % N, mask=inside)
    tl.store(y_ptr + place, a * tl.load(b_ptr + place, mask=inside), mask=inside)


def kernel_function(A, B):
    A, B = A.contiguous(), B.contiguous()
    y = torch.empty_like(B)
    scale_rows[(triton.cdiv(B.numel(), 1024),)](A, B, y, B.shape[0], B.shape[1], BLOCK=1024)
    return y
