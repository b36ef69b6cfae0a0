"""The roof of a case: the best of a family of plain kernels that move its bytes in its mix.

A variant is a number of threads, accesses in flight for each thread and operand, bytes of an
access, a hint for loads and one for stores, and whether groups stay and take further blocks
(persistent). Its kernel reads every input once and writes every output once, with what it read;
without outputs it keeps a value that is stored where it equals a number that nearly never comes.
Tensors may differ in size. The family is screened on the case's own buffers; the best is an arm
like the others.

    extern "C" __global__ void roof_t256u1b16_cs_st(const uint4 *i0, unsigned ni0, ...)
"""
import ctypes
import dataclasses
import hashlib
import os
import pathlib

from . import driver

LOADS = {"ld": "*({p})", "cs": "__ldcs({p})", "nc": "load_nc({p})"}
STORES = {"st": "*({p}) = {v}", "cs": "__stcs({p}, {v})"}
VECTOR = {16: "uint4", 8: "uint2", 4: "unsigned"}
FINALISTS = 4

PRELUDE = """
__device__ __forceinline__ uint4 load_nc(const uint4 *p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ uint4 mix(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}
__device__ __forceinline__ uint2 mix(uint2 a, uint2 b) { return make_uint2(a.x ^ b.x, a.y ^ b.y); }
__device__ __forceinline__ unsigned mix(unsigned a, unsigned b) { return a ^ b; }
__device__ __forceinline__ unsigned word(uint4 a) { return a.x ^ a.y ^ a.z ^ a.w; }
__device__ __forceinline__ unsigned word(uint2 a) { return a.x ^ a.y; }
__device__ __forceinline__ unsigned word(unsigned a) { return a; }
"""


@dataclasses.dataclass(frozen=True)
class Variant:
    threads: int
    unroll: int
    access: int      # bytes
    load: str        # of LOADS
    store: str       # of STORES
    resident: int    # groups for each multiprocessor that stay, or 0: a group for each block

    @property
    def name(self):
        stay = f"p{self.resident}" if self.resident else ""
        return f"roof_t{self.threads}u{self.unroll}b{self.access}{stay}_{self.load}_{self.store}"

    def grid(self, most_bytes, processors):
        vectors = max(1, -(-most_bytes // self.access))
        blocks = -(-vectors // (self.threads * self.unroll))
        return min(blocks, self.resident * processors) if self.resident else blocks


def family(writes, few):
    """The variants for a mix that writes or only reads, for few bytes or many: at most 96."""
    stores = ["st", "cs"] if writes else ["st"]
    loads = ["ld", "cs"] if writes else ["ld", "cs", "nc"]
    if few:
        return [Variant(threads, unroll, access, load, store, 0)
                for threads in (32, 64, 128, 256, 512) for unroll in (1, 2)
                for access in (4, 8, 16) for load in ("ld", "cs") for store in ("st",)]
    unrolls = (1, 2, 4) if writes else (1, 2, 4, 8)
    found = [Variant(threads, unroll, 16, load, store, 0)
             for threads in (128, 256, 512, 1024) for unroll in unrolls
             for load in loads for store in stores]
    found += [Variant(threads, unroll, 16, load, store, resident)
              for threads, resident in ((256, 8), (512, 4), (1024, 2)) for unroll in unrolls[1:3]
              for load in loads[:2] for store in stores]
    return found


def loop_text(variant, reads, writes, guarded):
    """Loads of one block, all in flight, then its stores; guarded: the last block of a tensor."""
    load = LOADS[variant.load]
    lines = []
    for k in range(reads):
        value = load.format(p=f"i{k} + i")
        value = value if k == 0 and not guarded else f"mix(v[u], {value})"
        lines.append((f"if (i < ni{k}) " if guarded else "") + f"v[u] = {value};")
    stores = [(f"if (i < no{k}) " if guarded else "")
              + STORES[variant.store].format(p=f"o{k} + i", v="v[u]") + ";" for k in range(writes)]
    stores = stores or ["kept ^= word(v[u]);"]
    text = ""
    for part in (lines, stores):
        text += f"""
            #pragma unroll
            for (int u = 0; u < {variant.unroll}; u++) {{
                unsigned i = base + u * {variant.threads}u;
                (void)i;
                {" ".join(part)}
            }}"""
    return text


def kernel_text(variant, reads, writes):
    """One kernel; each tensor has its number of vectors and of the 2-byte pieces behind them."""
    v = VECTOR[variant.access]
    parameters = [f"const {v} *i{k}, unsigned ni{k}, unsigned ti{k}" for k in range(reads)]
    parameters += [f"{v} *o{k}, unsigned no{k}, unsigned to{k}" for k in range(writes)]
    parameters += ["unsigned blocks", "unsigned least", "unsigned *sink"]
    tail = [f"if (threadIdx.x < ti{k}) "
            f"kept ^= ((const unsigned short *)(i{k} + ni{k}))[threadIdx.x];"
            for k in range(reads)]
    tail += [f"if (threadIdx.x < to{k}) ((unsigned short *)(o{k} + no{k}))[threadIdx.x] = kept;"
             for k in range(writes)]
    return f"""
extern "C" __global__ void __launch_bounds__({variant.threads})
{variant.name}({", ".join(parameters)}) {{
    unsigned kept = 0;
    for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {{
        unsigned base = block * {variant.threads * variant.unroll}u + threadIdx.x;
        {v} v[{variant.unroll}] = {{}};
        if (base + {(variant.unroll - 1) * variant.threads}u < least) {{{
            loop_text(variant, reads, writes, False)}
        }} else {{{loop_text(variant, reads, writes, True)}
        }}
    }}
    if (blockIdx.x == 0) {{
        {" ".join(tail)}
    }}
    if (kept == 0x9e3779b9u) sink[threadIdx.x] = kept;
}}
"""


def family_text(variants, reads, writes):
    return PRELUDE + "".join(kernel_text(variant, reads, writes) for variant in variants)


def sizes(variant, sizes_bytes):
    """(vectors, 2-byte pieces behind them) of tensors of these sizes."""
    return [(size // variant.access, size % variant.access // 2) for size in sizes_bytes]


def choose(variants, time_us, again_us):
    """The variant that is fastest: `time_us` of each once, `again_us` of the best few."""
    first = sorted(variants, key=time_us)[:FINALISTS]
    return min(first, key=again_us)


def arguments(variant, pointers, sizes_bytes, sink):
    """The arguments of a launch, in the order of kernel_text's parameters."""
    found, counts = [], sizes(variant, sizes_bytes)
    for pointer, (vectors, pieces) in zip(pointers, counts):
        found += [ctypes.c_void_p(pointer), ctypes.c_uint(vectors), ctypes.c_uint(pieces)]
    blocks = max(1, -(-max(vectors for vectors, _ in counts) // (variant.threads * variant.unroll)))
    least = min(vectors for vectors, _ in counts)
    return found + [ctypes.c_uint(blocks), ctypes.c_uint(least), ctypes.c_void_p(sink)]


def cubin(variants, reads, writes, architecture, cache):
    """The family's machine code, from the cache if this text was compiled before."""
    text = family_text(variants, reads, writes)
    name = hashlib.sha256((architecture + text).encode()).hexdigest()[:32]
    path = pathlib.Path(cache) / f"{name}.cubin"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(driver.compile_cubin(text, architecture))
        os.replace(part, path)
    return path.read_bytes()
