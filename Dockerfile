# kernelwright on a machine with an NVIDIA GPU, a driver and the NVIDIA Container Toolkit:
#
#     docker build -t kernelwright .
#     docker run --rm --gpus all -v "$PWD:/work" kernelwright doctor
#     docker run --rm --gpus all -v "$PWD:/work" kernelwright optimize softmax --minutes 10
#
# torch brings CUDA's libraries and Triton its assembler, so the image needs neither. gcc: torch.compile and Triton build
# a small C extension for each GPU. Versions are those of an H200's measurements (docs/gallery.md). Runs and exports are
# written to /work as root. Docker's default profile refuses the namespaces that confine candidates: `doctor` says what
# is left (docs/confinement.md).
#
# Not built so far: written where there is neither Docker nor a registry of images, and checked by reading only.
FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch==2.11.0 triton==3.6.0
# The layers above stay cached while the sources change.
COPY . /opt/kernelwright
RUN pip install --no-cache-dir '/opt/kernelwright[gpu,report]'
WORKDIR /work
ENTRYPOINT ["kernelwright"]
