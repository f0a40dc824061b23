"""Allow-list of system calls for sandboxed processes, by architecture: memory, files by path, channel, time, locks.

All others are refused: creating sockets, processes and threads, running programs, ptrace, mounts, namespaces, keys,
bpf, performance events, signals to other processes, io_uring, and calls that later kernels add. Only a compiler may
also start threads and programs. Numbers: linux/unistd.h.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class Architecture(NamedTuple):
    """System call numbers of one architecture. audit: its number in linux/audit.h. allowed: calls that are allowed with
    any arguments. The filter also checks arguments of the single calls."""

    audit: int
    allowed: frozenset[int]
    fcntl: int
    ioctl: int
    tgkill: int
    prlimit64: int
    clone3: int
    clone: int
    starting: frozenset[int]
    """Calls for starting a program, besides `clone`, and for waiting for it."""
    newest: int = 462
    """Highest known number. Later calls, and clone3, whose flags a filter cannot read, fail with ENOSYS as on an older
    kernel, so that the C library falls back to a call that is known here."""


def numbers(text: str) -> frozenset[int]:
    """The numbers in a text of the form `name=number …`."""
    return frozenset(int(word.partition("=")[2]) for word in text.split())


X86_64 = Architecture(
    audit=0xC000003E, fcntl=72, ioctl=16, tgkill=234, prlimit64=302, clone3=435, clone=56,
    starting=numbers("""
        fork=57 vfork=58 execve=59 wait4=61 waitid=247 set_tid_address=218 setsid=112 sched_setaffinity=203
    """),
    allowed=numbers("""
        mmap=9 munmap=11 mprotect=10 mremap=25 brk=12 madvise=28
        open=2 openat=257 creat=85 read=0 write=1 close=3 fstat=5 stat=4 lstat=6 newfstatat=262 statx=332 lseek=8
        pread64=17 pwrite64=18 readv=19 writev=20 access=21 faccessat=269 faccessat2=439 readlink=89 readlinkat=267
        getdents64=217 mkdir=83 mkdirat=258 unlink=87 unlinkat=263 rmdir=84 rename=82 renameat=264 renameat2=316
        ftruncate=77 fsync=74 fdatasync=75 fchmod=91 flock=73 dup=32 dup2=33 dup3=292 pipe=22 pipe2=293 getcwd=79
        chdir=80 umask=95 statfs=137 fstatfs=138 utimensat=280 copy_file_range=326 fadvise64=221 close_range=436
        sendto=44 recvfrom=45 poll=7 ppoll=271 select=23 pselect6=270 epoll_create1=291 epoll_ctl=233 epoll_wait=232
        epoll_pwait=281 eventfd2=290
        rt_sigaction=13 rt_sigprocmask=14 rt_sigreturn=15 sigaltstack=131 rt_sigpending=127 restart_syscall=219
        clock_gettime=228 clock_getres=229 clock_nanosleep=230 nanosleep=35 gettimeofday=96 time=201 times=100
        getitimer=36 setitimer=38
        futex=202 sched_yield=24 set_robust_list=273 rseq=334 membarrier=324
        getpid=39 gettid=186 getppid=110 getpgid=121 getpgrp=111 getsid=124 getuid=102 geteuid=107 getgid=104
        getegid=108 getgroups=115 getrlimit=97 getrusage=98 sysinfo=99 uname=63 sched_getaffinity=204
        sched_getparam=143 sched_getscheduler=145 getcpu=309 get_mempolicy=239 getrandom=318 arch_prctl=158
        exit=60 exit_group=231
    """),
)  # fmt: skip

AARCH64 = Architecture(
    audit=0xC00000B7, fcntl=25, ioctl=29, tgkill=131, prlimit64=261, clone3=435, clone=220,
    starting=numbers("""
        execve=221 wait4=260 waitid=95 set_tid_address=96 setsid=157 sched_setaffinity=122
    """),
    allowed=numbers("""
        mmap=222 munmap=215 mprotect=226 mremap=216 brk=214 madvise=233
        openat=56 read=63 write=64 close=57 fstat=80 newfstatat=79 statx=291 lseek=62 pread64=67 pwrite64=68 readv=65
        writev=66 faccessat=48 faccessat2=439 readlinkat=78 getdents64=61 mkdirat=34 unlinkat=35 renameat=38
        renameat2=276 ftruncate=46 fsync=82 fdatasync=83 fchmod=52 flock=32 dup=23 dup3=24 pipe2=59 getcwd=17 chdir=49
        umask=166 statfs=43 fstatfs=44 utimensat=88 copy_file_range=285 fadvise64=223 close_range=436
        sendto=206 recvfrom=207 ppoll=73 pselect6=72 epoll_create1=20 epoll_ctl=21 epoll_pwait=22 eventfd2=19
        rt_sigaction=134 rt_sigprocmask=135 rt_sigreturn=139 sigaltstack=132 rt_sigpending=136 restart_syscall=128
        clock_gettime=113 clock_getres=114 clock_nanosleep=115 nanosleep=101 gettimeofday=169 times=153 getitimer=102
        setitimer=103
        futex=98 sched_yield=124 set_robust_list=99 rseq=293 membarrier=283
        getpid=172 gettid=178 getppid=173 getpgid=155 getsid=156 getuid=174 geteuid=175 getgid=176 getegid=177
        getgroups=158 getrlimit=163 getrusage=165 sysinfo=179 uname=160 sched_getaffinity=123 sched_getparam=121
        sched_getscheduler=120 getcpu=168 get_mempolicy=236 getrandom=278 exit=93 exit_group=94
    """),
)  # fmt: skip

ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64}

FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
"""Allowed commands: duplicating, flags and locks (linux/fcntl.h). F_SETOWN is refused: with it, a file can signal
another process."""

IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Allowed requests: TCGETS and TIOCGWINSZ ("is this a terminal?"), FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. No request
of a device driver is allowed."""


def architecture() -> Architecture:
    """The architecture of this machine; raises OSError if it has no list of calls here."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(f"no list of system calls for {machine}; there is one for {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[machine]
