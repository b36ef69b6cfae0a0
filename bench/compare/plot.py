"""The two plots of a comparison as SVG, written by hand: no library, no script, no font.

`roofline`: bandwidth over bytes moved, Croft as discs, the best peer as rings, the roofs as dashes.
`speedup`: the ratio of every case against each peer, sorted within an operator; 1 is a line.
Colours and greys are such that they can be read on white and on black; the ground is clear.
"""
import math
from xml.sax.saxutils import escape

INK = "#7a7a7a"  # contrast above 4 on white and on black
PALETTE = {"sum": "#d55e00", "softmax": "#0f8fd0", "rmsnorm": "#0a9a74", "layernorm": "#b8860b",
           "residual_layernorm": "#c2609a", "cross_entropy": "#7b6fd6"}
PEER_COLOURS = {"eager": "#d55e00", "compiled": "#0f8fd0", "autotuned": "#7b6fd6",
                "onnxruntime": "#0a9a74", "jax": "#c2609a", "contiguous": "#b8860b"}
ROOFS = {"1:1": ("roof", "roof_nt", "roof_copy"), "2:1": ("roof", "roof_nt", "roof_copy"),
         "reads": ("roof", "roof_read")}
DASHES = {"1:1": "none", "2:1": "6 3", "reads": "2 3"}
LEFT, TOP, RIGHT, BOTTOM = 62, 44, 150, 46


class Drawing:
    """Elements in a frame with two scales; each scale maps a value to [0, 1]."""

    def __init__(self, width, height, title, about):
        self.width, self.height, self.parts = width, height, []
        self.text(LEFT, 16, title, size=14)
        self.text(LEFT, 33, about, size=12)

    def x(self, part):
        return LEFT + part * (self.width - LEFT - RIGHT)

    def y(self, part):
        return self.height - BOTTOM - part * (self.height - TOP - BOTTOM)

    def text(self, x, y, words, anchor="start", size=11, turn=None):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn is not None else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}"{turned}>{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, dash="none", opacity=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}" '
                          f'stroke-opacity="{opacity}"/>')

    def path(self, points, colour, width=1.5, dash="none", opacity=1.0):
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{where}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width}" stroke-dasharray="{dash}" '
                          f'stroke-opacity="{opacity}"/>')

    def mark(self, x, y, colour, what, filled=True, size=3.6):
        fill = colour if filled else "none"
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" '
                          f'stroke="{colour}" stroke-width="1.4"><title>{escape(what)}</title>'
                          "</circle>")

    def legend(self, entries):
        """(colour, words, kind) beside the frame; kind: disc, ring, or a dash pattern of a line."""
        for index, (colour, words, kind) in enumerate(entries):
            y = TOP + 8 + 17 * index
            x = self.width - RIGHT + 14
            if kind in ("disc", "ring"):
                self.mark(x + 8, y - 4, colour, words, kind == "disc")
            else:
                self.line(x, y - 4, x + 16, y - 4, colour, 1.5, kind)
            self.text(x + 22, y, words)

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" font-family="sans-serif" '
                f'fill="{INK}">\n' + "\n".join(self.parts) + "\n</svg>\n")


class Logarithm:
    def __init__(self, least, greatest):
        self.low, self.high = math.log(least), math.log(greatest)

    def __call__(self, value):
        return (math.log(value) - self.low) / (self.high - self.low)


def plain(value):
    """A number for an axis: 0.5, 20, 3000."""
    return f"{value:g}"


def bytes_text(size):
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= scale:
            return f"{plain(round(size / scale, 2))} {unit}"
    return f"{size} B"


def steps_125(least, greatest):
    values, exponent = [], math.floor(math.log10(least))
    while 10.0 ** exponent <= greatest:
        values += [factor * 10.0 ** exponent for factor in (1, 2, 5)
                   if least <= factor * 10.0 ** exponent <= greatest]
        exponent += 1
    return values


def frame(drawing, across, across_ticks, along, along_ticks):
    """Grid and labels; ticks are (value, text)."""
    for value, words in across_ticks:
        x = drawing.x(across(value))
        drawing.line(x, drawing.y(0), x, drawing.y(1), opacity=0.22)
        drawing.text(x, drawing.height - BOTTOM + 16, words, "middle")
    for value, words in along_ticks:
        y = drawing.y(along(value))
        drawing.line(drawing.x(0), y, drawing.x(1), y, opacity=0.22)
        drawing.text(LEFT - 7, y + 4, words, "end")


def bytes_ticks(least, greatest):
    """Powers of two for an axis of bytes: every third, or all where there are few."""
    powers = [2 ** e for e in range(int(math.log2(least)), int(math.log2(greatest)) + 2)
              if least / 1.5 <= 2 ** e <= greatest * 1.5]
    some = [size for size in powers if int(math.log2(size)) % 3 == 0]
    return [(size, bytes_text(size)) for size in (some if len(some) > 1 else powers)]


def empty(title, about):
    drawing = Drawing(480, 120, title, about)
    drawing.text(LEFT, 70, "nothing measured")
    return drawing.svg()


def first_phase(table):
    return table["entries"][0]["phase"] if table["entries"] else None


def operator_of(case):
    return case.get("operator") or case.get("file") or "?"


def is_further(arm):
    """A form that a peer's file names: not Croft's, no roof, and none that is known here."""
    return arm not in PEER_COLOURS and arm not in ("control", "hand") and not arm.startswith(
        ("croft", "roof"))


def colour_of(operator):
    return PALETTE.get(operator, "#999999")


def mix_of(case):
    """What a case reads and writes, as the roofs are told apart."""
    part = case["write"] / max(case["read"], 1)
    return "reads" if part < 0.1 else "2:1" if part < 0.75 else "1:1"


def roof_lines(cases, entries):
    """(name, mix) -> sorted (bytes, GB/s) of the roofs; at equal bytes the best."""
    lines = {}
    for entry in entries:
        case = cases[entry["case"]]
        moved = case["read"] + case["write"]
        for name in ROOFS[mix_of(case)]:
            if entry["us"].get(name):
                rate = moved / entry["us"][name] * 1e-3
                points = lines.setdefault((name, mix_of(case)), {})
                points[moved] = max(rate, points.get(moved, 0.0))
    return {key: sorted(points.items()) for key, points in lines.items()}


def roofline(cases, table):
    phase = first_phase(table)
    entries = [entry for entry in table["entries"]
               if entry["phase"] == phase and entry["us"].get("croft")]
    title, about = table["environment"]["device"], "bandwidth over bytes moved"
    if not entries:
        return empty(title, about)
    points = []  # (operator, bytes, rate, filled, words, unstable)
    for entry in entries:
        case = cases[entry["case"]]
        moved = case["read"] + case["write"]
        points.append((operator_of(case), moved, moved / entry["us"]["croft"] * 1e-3, True,
                       f"{entry['case']} Croft"))
        if entry["best"]:
            time = entry["us"][entry["best"]["peer"]]
            points.append((operator_of(case), moved, moved / time * 1e-3, False,
                           f"{entry['case']} {entry['best']['peer']}"))
    roofs = roof_lines(cases, entries)
    sizes = [point[1] for point in points]
    rates = [point[2] for point in points] + [rate for line in roofs.values() for _, rate in line]
    across = Logarithm(min(sizes) / 1.5, max(sizes) * 1.5)
    along = Logarithm(min(rates) / 1.4, max(rates) * 1.4)
    drawing = Drawing(860, 460, title, about)
    frame(drawing, across, bytes_ticks(min(sizes), max(sizes)), along,
          [(value, plain(value)) for value in steps_125(min(rates) / 1.4, max(rates) * 1.4)])
    drawing.text(drawing.x(0.5), drawing.height - 8, "bytes read and written", "middle")
    drawing.text(14, drawing.y(0.5), "GB/s", "middle", turn=-90)
    for (name, mix), line in roofs.items():
        for size, rate in line:  # a bar where it was measured: one size alone makes no line
            x, y = drawing.x(across(size)), drawing.y(along(rate))
            drawing.line(x - 5, y, x + 5, y, width=1.8)
        drawing.path([(drawing.x(across(size)), drawing.y(along(rate))) for size, rate in line],
                     INK, width=1.0 if name == "roof_copy" else 1.8, dash=DASHES[mix])
    for operator, size, rate, filled, words in points:
        drawing.mark(drawing.x(across(size)), drawing.y(along(rate)), colour_of(operator),
                     f"{words}: {rate:.1f} GB/s", filled)
    used = [name for name in PALETTE if any(point[0] == name for point in points)]
    others = sorted({point[0] for point in points} - set(used))
    drawing.legend([(colour_of(name), name, "disc") for name in used + others]
                   + [(INK, "Croft", "disc"), (INK, "best peer", "ring")]
                   + [(INK, f"{name} {mix}", DASHES[mix]) for name, mix in roofs])
    return drawing.svg()


def speedup(cases, table):
    phase = first_phase(table)
    entries = [entry for entry in table["entries"] if entry["phase"] == phase]
    title, about = table["environment"]["device"], f"time of others / time of Croft, phase {phase}"
    others = [arm for entry in entries for arm in entry["ratios"] if is_further(arm)]
    peers = [peer for peer in dict.fromkeys([*PEER_COLOURS, *others])
             if any(entry["ratios"].get(peer) for entry in entries)]
    if not peers:
        return empty(title, about)
    order = sorted(entries, key=lambda entry: (
        list(PALETTE).index(operator_of(cases[entry["case"]]))
        if operator_of(cases[entry["case"]]) in PALETTE else 99,
        operator_of(cases[entry["case"]]), cases[entry["case"]]["dtype"],
        cases[entry["case"]]["footprint"]))
    values = [entry["ratios"][peer]["median"] for entry in order for peer in peers
              if entry["ratios"].get(peer)]
    low, high = min(0.8, min(values) / 1.15), max(1.6, max(values) * 1.15)
    along = Logarithm(low, high)
    drawing = Drawing(max(640, LEFT + RIGHT + 11 * len(order)), 460, title, about)

    def across(index):
        return (index + 0.5) / len(order)

    values = [value / 100 for value in (*range(10, 100, 10), *range(100, 200, 25),
                                        *range(200, 500, 50)) if low <= value / 100 <= high]
    values += [value for value in steps_125(low, high) if value >= 5]
    frame(drawing, across, [], along, [(value, plain(value)) for value in values])
    one = drawing.y(along(1.0))
    drawing.line(drawing.x(0), one, drawing.x(1), one, width=1.6)
    drawing.text(14, drawing.y(0.5), "ratio, above 1: Croft is faster", "middle", turn=-90)
    groups = {}
    for index, entry in enumerate(order):
        groups.setdefault(operator_of(cases[entry["case"]]), []).append(index)
        for peer in peers:
            figure = entry["ratios"].get(peer)
            if figure:
                words = f"{entry['case']} {peer}: {figure['median']:.3f}"
                drawing.mark(drawing.x(across(index)), drawing.y(along(figure["median"])),
                             PEER_COLOURS.get(peer, "#999999"),
                             words + (" (unstable)" if entry["unstable"] else ""),
                             not entry["unstable"])
    for number, (name, indices) in enumerate(groups.items()):
        if indices[0]:
            x = drawing.x(indices[0] / len(order))
            drawing.line(x, drawing.y(0), x, drawing.y(1), opacity=0.5)
        middle = (indices[0] + indices[-1] + 1) / 2 / len(order)
        drawing.text(drawing.x(middle), drawing.height - BOTTOM + 16 + 14 * (number % 2), name,
                     "middle")
    drawing.legend([(PEER_COLOURS.get(peer, "#999999"), peer, "disc") for peer in peers]
                   + [(INK, "unstable", "ring")])
    return drawing.svg()
