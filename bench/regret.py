#!/usr/bin/env python3
"""How much the automatic plan loses to the best of the plans that the planner could have chosen.

    bench/regret.py [--cases base,wide] [--operators sum,softmax] [--threads 2] [--json FILE]
    bench/regret.py --device cuda --cases base,wide,anchor --most 64 --out DIR     (--help: more)
    bench/regret.py --report DIR        the tables of such a run once more, from DIR/raw.jsonl

On a GPU compare/regret.py measures. On a cpu, for each operator and shape, every legal candidate of
`croft plan --all` is built and timed against the automatic plan (bench_cpu_plans: A B B A rounds,
one process); the fastest is measured again with more rounds, beside the automatic plan against
itself. Regret is what the automatic plan takes longer than the best, 0 where it is the best itself.
Candidates that cannot be compiled are counted; of more than 256 plans a case the first 256 are
timed, which is said.
"""
import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATORS = {
    "sum": "x:rw y:r", "softmax": "x:rw y:rw", "rmsnorm": "x:rw w:w y:rw",
    "layernorm": "x:rw w:w b:w y:rw", "residual_layernorm": "x:rw residual:rw w:w b:w y:rw",
    "cross_entropy": "logits:rw label:l loss:r",
}
CASES = {"base": "1x127 17x257 128x1024 64x4096",
         "wide": "37x8191 1024x8192 1024x16384 4096x8192"}
MOST_CANDIDATES = 256  # as many as bench_cpu_plans takes
FIRST_ROUNDS, LAST_ROUNDS = 5, 31
LINE = re.compile(r"^(\S+): A (\S+) us, B (\S+) us, ratio (\S+) \[(\S+), (\S+)\]( DISAGREES)?$",
                  re.MULTILINE)


class Case:
    def __init__(self, options, operator, shape, folder):
        self.options, self.operator, self.shape, self.folder = options, operator, shape, folder
        rows, width = map(int, shape.split("x"))
        dims = {"rw": f"{rows}x{width}:f32", "w": f"{width}:f32", "r": f"{rows}:f32",
                "l": f"{rows}:i64"}
        tensors = [word.split(":") for word in OPERATORS[operator].split()]
        self.arrays = [f"{name}={dims[kind]}" for name, kind in tensors]
        outputs = [name for name, _ in tensors][-1:]
        self.words = [f"{name}=/dev/null" if name in outputs else f"{name}=zeros:{dims[kind]}"
                      for name, kind in tensors]

    def kernel(self):
        return str(ROOT / "examples" / f"{self.operator}.croft")

    def plan(self, *words):
        command = [self.options.croft, "plan", self.kernel(), *self.words, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(shlex.join(command) + "\n" + done.stderr)
        return done.stdout

    def candidates(self):
        """Texts of the plans that differ, the automatic one first."""
        texts = [self.plan()]
        legal = [c for c in json.loads(self.plan("--all", "--json"))["candidates"]
                 if "refused" not in c]
        for choice in legal:
            numbers = ",".join(f"{key}={choice[key]}" for key in "wvupg")
            rules = ",".join(f"{key}={choice[key]}" for key in ("chunk", "shift", "keep"))
            text = self.plan("--set", f"{numbers},{rules}")
            if text not in texts:
                texts.append(text)
        if len(texts) > MOST_CANDIDATES:
            print(f"{len(texts)} plans, the first {MOST_CANDIDATES} are timed", file=sys.stderr)
        return texts[:MOST_CANDIDATES]

    def time(self, plans, rounds):
        """plan -> (ratio, least, greatest, us of the first), of those that could be built."""
        bench = pathlib.Path(self.options.croft).parent / "bench" / "bench_cpu_plans"
        command = [str(bench), self.kernel(), *map(str, plans), "--", *self.arrays, "--rounds",
                   str(rounds), "--threads", str(self.options.threads), "--least",
                   str(self.options.least)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(shlex.join(command) + "\n" + done.stdout + done.stderr)
        return {pathlib.Path(m[1]).stem: tuple(map(float, m.group(4, 5, 6))) + (float(m[2]),)
                for m in LINE.finditer(done.stdout)}

    def run(self):
        paths = []
        for number, text in enumerate(self.candidates()):
            paths.append(pathlib.Path(self.folder) / f"{number}.plan")
            paths[-1].write_text(text)
        first = self.time(paths, FIRST_ROUNDS)
        best = min(first, key=lambda name: first[name][0])
        last = self.time([paths[0], paths[int(best)]], LAST_ROUNDS)
        control, again = last["0"], last[best]
        regret = max(0.0, 1 / again[0] - 1) if best != "0" else 0.0
        return {"operator": self.operator, "shape": self.shape, "plans": len(paths),
                "not_built": len(paths) - len(first), "time_us": again[3], "regret": regret,
                "ratio": again[0], "least": again[1], "greatest": again[2],
                "control": control[0], "control_least": control[1],
                "control_greatest": control[2], "automatic": paths[0].read_text(),
                "best": paths[int(best)].read_text(), "first": first}


def main():
    device = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    device.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    device.add_argument("--report", metavar="DIR")
    known = device.parse_known_args()[0]
    if known.report:
        from compare import raw, regret
        print(regret.write_results(known.report, raw.read(f"{known.report}/raw.jsonl")), end="")
        return 0
    if known.device == "cuda":  # which has options of its own
        from compare import regret_cuda
        return regret_cuda.main(sys.argv[1:])
    return main_cpu()


def main_cpu():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=["cpu"], default="cpu")
    parser.add_argument("--croft", default=str(ROOT / "build" / "croft"))
    parser.add_argument("--cases", default="base")
    parser.add_argument("--operators", default=",".join(OPERATORS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.003, help="seconds of one timing")
    parser.add_argument("--json", help="a file for a line of JSON a case")
    options = parser.parse_args()
    results = []
    for group in options.cases.split(","):
        for shape in CASES.get(group, group).split():
            for operator in options.operators.split(","):
                with tempfile.TemporaryDirectory() as folder:
                    result = Case(options, operator, shape, folder).run()
                results.append(result)
                print(f"{operator:20} {shape:>11} {result['plans']:4} plans "
                      f"({result['not_built']} not built) {result['time_us']:10.2f} us  regret "
                      f"{result['regret']:6.1%}  control {result['control']:.3f} "
                      f"[{result['control_least']:.3f}, {result['control_greatest']:.3f}]",
                      flush=True)
                if options.json:
                    with open(options.json, "a", encoding="utf-8") as file:
                        file.write(json.dumps(result) + "\n")
    regrets = [result["regret"] for result in results]
    print(f"{len(results)} cases, median regret {statistics.median(regrets):.1%}, "
          f"worst {max(regrets):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
