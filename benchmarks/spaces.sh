#!/bin/sh
# Records the four spaces that kernelwright ships, on a machine with a GPU: sh benchmarks/spaces.sh [MINUTES_EACH] [NAME…]
# Each goes on where it stopped, so run it again until it says that every space is complete.
set -eu
cd "$(dirname "$0")/.."
minutes=${1:-10}
[ $# -gt 0 ] && shift
wanted=${*:-softmax matmul matmul_leaky_relu depthwise_conv2d}
out=${SPACES_OUT:-src/kernelwright/spaces/files}
python=${PYTHON:-python}
mkdir -p "$out"

record() {
    name=$1
    shift
    case " $wanted " in
    *" $name "*) "$python" benchmarks/record_space.py "gallery/$name" "$@" --in-flight "${IN_FLIGHT:-16}" --minutes "$minutes" \
        --out "$out/$name.json.gz" || [ $? -eq 1 ] ;;
    esac
}

# 336 configs
record softmax --case 1024x16384_bf16 --candidate benchmarks/spaces/softmax.py \
    --choices 'BLOCK_ROWS=1,2,4,8;BLOCK_COLS=256,512,1024,2048,4096;LOOP_STAGES=1,2,3,4;num_warps=1,2,4,8,16' \
    --restrict 'BLOCK_ROWS * softmax_kernel.BLOCK_COLS <= 8192' \
    --restrict 'BLOCK_ROWS * softmax_kernel.BLOCK_COLS >= 32 * softmax_kernel.num_warps'

# 408 configs; those that need more shared memory than there is stay in, as failures
record matmul --case 4096_fp16 --candidate gallery/matmul/starter.py \
    --choices 'BLOCK_M=64,128,256;BLOCK_N=64,128,256;BLOCK_K=32,64,128;GROUP_M=1,8;num_warps=4,8;num_stages=2,3,4,5' \
    --restrict 'BLOCK_M * BLOCK_N < 65536 or matmul_kernel.num_warps >= 8'

# 408 configs
record matmul_leaky_relu --case 4096_fp16 --candidate gallery/matmul_leaky_relu/starter.py \
    --choices 'BLOCK_M=64,128,256;BLOCK_N=64,128,256;BLOCK_K=32,64,128;GROUP_M=1,8;num_warps=4,8;num_stages=2,3,4,5' \
    --restrict 'BLOCK_M * BLOCK_N < 65536 or matmul_leaky_relu_kernel.num_warps >= 8'

# 344 configs
record depthwise_conv2d --case 16x64x512x512_bf16 --candidate benchmarks/spaces/depthwise_conv2d.py \
    --choices 'BLOCK_H=1,2,4,8,16;BLOCK_W=32,64,128,256,512;TILES_PER_PROGRAM=1,2,4,8;num_warps=1,2,4,8' \
    --restrict 'BLOCK_H * BLOCK_W <= 4096' \
    --restrict 'BLOCK_H * BLOCK_W >= 32 * depthwise_conv2d_kernel.num_warps'
