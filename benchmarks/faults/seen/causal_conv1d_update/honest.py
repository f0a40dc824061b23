import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    x_ptr, state_ptr, w_ptr, b_ptr, out_ptr, channels, steps,
    WINDOW: tl.constexpr, KEPT: tl.constexpr, ACTIVATE: tl.constexpr, BLOCK: tl.constexpr,
):
    batch = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    row = batch * channels + channel
    b = tl.load(b_ptr + channel, mask=inside, other=0.0).to(tl.float32)
    for t in range(0, steps):
        acc = b
        for k in range(WINDOW):
            past = t + k - (WINDOW - 1)
            w = tl.load(w_ptr + channel * WINDOW + k, mask=inside, other=0.0).to(tl.float32)
            fresh = tl.load(x_ptr + row * steps + past, mask=inside & (past >= 0), other=0.0).to(tl.float32)
            kept = tl.load(state_ptr + row * (WINDOW - 1) + past + WINDOW - 1, mask=inside & (past < 0), other=0.0).to(tl.float32)
            acc += w * (fresh + kept)
        if ACTIVATE:
            e = tl.exp(-tl.abs(acc))
            acc = acc * tl.where(acc >= 0.0, 1.0, e) / (1.0 + e)
        tl.store(out_ptr + row * steps + t, acc, mask=inside)
    # the new state: all loads before any store
    slot = tl.arange(0, KEPT)[None, :]
    source = steps + slot  # in the old state followed by x
    ok = inside[:, None] & (slot < WINDOW - 1)
    old = tl.load(state_ptr + row[:, None] * (WINDOW - 1) + source, mask=ok & (source < WINDOW - 1), other=0.0)
    new = tl.load(x_ptr + row[:, None] * steps + source - (WINDOW - 1), mask=ok & (source >= WINDOW - 1), other=0.0)
    tl.debug_barrier()
    tl.store(state_ptr + row[:, None] * (WINDOW - 1) + slot, tl.where(source < WINDOW - 1, old, new), mask=ok)


def kernel_function(x, state, weight, bias, activate):
    x = x.contiguous()
    weight = weight.contiguous()
    bias = bias.contiguous()
    assert state.is_contiguous()
    batch, channels, steps = x.shape
    window = weight.shape[1]
    out = torch.empty_like(x)
    kernel[(batch, triton.cdiv(channels, 32))](
        x, state, weight, bias, out, channels, steps,
        WINDOW=window, KEPT=triton.next_power_of_2(max(window - 1, 1)), ACTIVATE=activate, BLOCK=32,
    )
    return out
