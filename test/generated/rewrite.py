"""Kernel texts written otherwise, with the same meaning: other names, another order of independent
statements, subexpressions named and names written out.

    kernel = parse(text)
    rename(kernel, random)       {old: new} for the arguments
    reorder(kernel, random)
    name_parts(kernel, random)   t = f32(x[row, :])     ->  v = x[row, :]
                                 y[row, :] = exp(t)         t = f32(v)
                                                            y[row, :] = exp(t)
    write_out(kernel, random)    the other way round
    text = print_kernel(kernel)

A kernel is tokens; statements know what they read and write. What has no type or value of its own
stays where it is: literals, sizes, constants and what is made of them, lengths of ranges, steps,
layouts, and the words behind keywords.
"""
import re

TOKEN = re.compile(r"[ \t\r]*(?:#[^\n]*)?"
                   r"(\n|\d[\w.]*?(?=\.\.)|0x[\da-fA-F_.]+(?:p[-+]?\d+)?|"
                   r"\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|"
                   r"\.\.|//|<<|>>|<=|>=|==|!=|\S)")
NAME = re.compile(r"[A-Za-z_]\w*$")
TYPES = {"f32", "f16", "bf16", "i64", "i32", "u32", "i8", "u8", "bool", "index"}
REDUCTIONS = {"max", "min", "sum", "prod", "any", "all"}
FUNCTIONS = REDUCTIONS | {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf",
                          "abs", "maximum", "minimum", "where", "arange", "convert", "pad"}
LAYOUTS = {"bits", "identity", "blocked_cyclic", "digits", "gf2"}
WORDS = {"kernel", "program", "for", "in", "step", "if", "else", "const", "layout", "dynamic",
         "unique", "None", "true", "false", "inf", "nan", "out", "inout", "fill"}
FIXED = TYPES | FUNCTIONS | LAYOUTS | WORDS
LEVELS = [["<", "<=", ">", ">=", "==", "!="], ["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"],
          ["*", "/", "//", "%"]]
SHARE = 0.4  # of what could be written otherwise


class Node:
    """A part of an expression: tokens[start:end]. `kind`: literal, size (a name without a type of
    its own), name, call, index, paren, operator."""

    def __init__(self, kind, start, end, parts=(), typed=True):
        self.kind, self.start, self.end, self.parts, self.typed = kind, start, end, parts, typed

    def walk(self):
        yield self
        for part in self.parts:
            yield from part.walk()


class Statement:
    """`kind`: program, assign, store, for, if. `parts`: lists of tokens (assign: the value; store:
    indices and value; for: low, high and step; if: the condition)."""

    def __init__(self, kind, name=None, parts=(), blocks=()):
        self.kind, self.name, self.parts, self.blocks = kind, name, list(parts), list(blocks)

    def walk(self):
        yield self
        for block in self.blocks:
            for statement in block:
                yield from statement.walk()


class Kernel:
    def __init__(self, head, tensors, constants, types, body):
        self.head, self.tensors, self.constants, self.types = head, tensors, constants, types
        self.body, self.fresh = body, 0
        self.has_layouts = "layout" in head or any(
            {"convert"} | LAYOUTS & set(part) and ("convert" in part or LAYOUTS & set(part))
            for s in self.walk() for part in s.parts)

    def walk(self):
        for statement in self.body:
            yield from statement.walk()


# ---- reading ----

def closing(tokens, start):
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i] in "([{") - (tokens[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError("a bracket is not closed")


def split_at(tokens, word):
    """The parts of a list of tokens between `word`s outside brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == word and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def lines_of(tokens):
    """Without the newlines inside parentheses and brackets."""
    kept, depth = [], 0
    for token in tokens:
        depth += (token in "([") - (token in ")]")
        if token != "\n" or depth == 0:
            kept.append(token)
    return kept


def read_for(tokens, block):
    name = tokens[1]
    low, high = split_at(tokens[3:], "..")
    return Statement("for", name, [low] + split_at(high, "step"), [block])


def read_block(tokens, at):
    """The statements from after a `{` to its `}`, and where that is."""
    statements = []
    while tokens[at] != "}":
        if tokens[at] == "\n":
            at += 1
            continue
        end = at
        while tokens[end] not in ("\n", "{", "}"):
            end = closing(tokens, end) + 1 if tokens[end] in "([" else end + 1
        words = tokens[at:end]
        if tokens[end] != "{":
            statements.append(read_simple(words))
            at = end
            continue
        block, end = read_block(tokens, end + 1)
        at = end + 1
        if words[0] == "for":
            statements.append(read_for(words, block))
            continue
        statement = Statement("if", None, [words[1:]], [block])
        statements.append(statement)
        if tokens[at] == "else":
            inner = [] if tokens[at + 1] == "{" else ["{"]  # `else if`: a block with an `if`
            if inner:
                stop = end_of_chain(tokens, at + 1)
                tokens[stop:stop] = ["\n", "}"]
                tokens[at + 1:at + 1] = ["{", "\n"]
            block, end = read_block(tokens, at + 2)
            statement.blocks.append(block)
            at = end + 1
    return statements, at


def end_of_chain(tokens, at):
    """Behind the last `}` of `if .. { } else ..`."""
    while True:
        while tokens[at] != "{":
            at = closing(tokens, at) + 1 if tokens[at] in "([" else at + 1
        at = closing(tokens, at) + 1
        if tokens[at] != "else":
            return at
        at += 1


def read_simple(words):
    if words[0] == "program":
        return Statement("program", None, [words[1:]])
    if words[1] == "[":
        end = closing(words, 1)
        return Statement("store", words[0], [words[2:end], words[end + 2:]])
    return Statement("assign", words[0], [words[2:]])


def parse(text):
    tokens = [found for found in TOKEN.findall(text + "\n") if found]
    tokens = lines_of(tokens)
    del tokens[:tokens.index("kernel")]
    begin = tokens.index("(")
    end = closing(tokens, begin)
    head = tokens[:end + 1]
    tensors, constants, types = set(), set(), set()
    for parameter in split_at(head[begin + 1:end], ","):
        if not parameter:
            continue
        words = parameter[2:]
        if words[0] in ("in", "out", "inout"):
            tensors.add(parameter[0])
            constants |= {w for w in words[2:] if NAME.match(w) and w not in FIXED}
        elif words[0] == "const":
            constants.add(parameter[0])
        elif "|" in words:
            types.add(parameter[0])
    body, _ = read_block(tokens, tokens.index("{", end) + 1)
    return Kernel(head, tensors, constants, types, body)


def print_block(block, indent, lines):
    pad = "    " * indent
    for s in block:
        texts = [" ".join(part) for part in s.parts]
        if s.kind == "program":
            lines.append(f"{pad}program {texts[0]}")
        elif s.kind == "assign":
            lines.append(f"{pad}{s.name} = {texts[0]}")
        elif s.kind == "store":
            lines.append(f"{pad}{s.name}[{texts[0]}] = {texts[1]}")
        elif s.kind == "for":
            step = f" step {texts[2]}" if len(texts) > 2 else ""
            lines.append(f"{pad}for {s.name} in {texts[0]} .. {texts[1]}{step} {{")
        else:
            lines.append(f"{pad}if {texts[0]} {{")
        for i, inner in enumerate(s.blocks):
            if i > 0:
                lines.append(pad + "} else {")
            print_block(inner, indent + 1, lines)
        if s.blocks:
            lines.append(pad + "}")


def print_kernel(kernel):
    lines = [" ".join(kernel.head) + " {"]
    print_block(kernel.body, 1, lines)
    return "\n".join(lines + ["}", ""])


# ---- expressions ----

class Reader:
    """Reads an expression of a list of tokens to a Node."""

    def __init__(self, kernel, tokens):
        self.kernel, self.tokens, self.at = kernel, tokens, 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def expression(self, level=0):
        if level == len(LEVELS):
            return self.unary()
        left = self.expression(level + 1)
        while self.peek() in LEVELS[level]:
            self.at += 1
            right = self.expression(level + 1)
            left = Node("operator", left.start, right.end, (left, right),
                        left.typed or right.typed)
        return left

    def unary(self):
        start = self.at
        while self.peek() in ("-", "~"):
            self.at += 1
        inner = self.postfix()
        if inner.start == start:
            return inner
        return Node("operator", start, inner.end, (inner,), inner.typed)

    def postfix(self):
        node = self.primary()
        while self.peek() == "[":
            end = closing(self.tokens, self.at)
            parts = [] if node.kind == "tensor" else [node]
            if node.kind == "tensor":
                parts += self.indices(self.at + 1, end)
            node = Node("index", node.start, end + 1, tuple(parts))
            self.at = end + 1
        return node

    def indices(self, at, end):
        """Points and gathers of an access, and where ranges `a : +n` start."""
        parts = []
        for item in split_at(self.tokens[at:end], ","):
            start, *rest = split_at(item, ":")
            is_value = start and start[0] not in ("None", "unique", "fill")
            if is_value and (not rest or rest[0][:1] == ["+"]):
                parts.append(self.inside(at, at + len(start)))
            at += len(item) + 1
        return parts

    def inside(self, start, end):
        reader = Reader(self.kernel, self.tokens[:end])
        reader.at = start
        node = reader.expression()
        assert reader.at == end, self.tokens[start:end]
        return node

    def primary(self):
        start, word = self.at, self.peek()
        self.at += 1
        if word == "(":
            inner = self.expression()
            self.at += 1
            return Node("paren", start, self.at, (inner,), inner.typed)
        if not NAME.match(word) or word in ("true", "false", "inf", "nan"):
            return Node("literal", start, self.at, typed=False)
        if self.peek() == "(":
            return self.call(start)
        if word in self.kernel.tensors:
            return Node("tensor", start, self.at, typed=False)
        if word in self.kernel.constants:
            return Node("size", start, self.at, typed=False)
        return Node("name", start, self.at)

    def call(self, start):
        """Of arange and convert the layout, and the length of arange, are no values."""
        name, end = self.tokens[start], closing(self.tokens, self.at)
        at, parts = self.at + 1, []
        for i, argument in enumerate(split_at(self.tokens[at:end], ",")):
            keyword = len(argument) > 1 and argument[1] == "="
            opaque = name == "arange" or (name == "convert" and i > 0)
            if argument and not keyword and not opaque:
                parts.append(self.inside(at, at + len(argument)))
            at += len(argument) + 1
        self.at = end + 1
        return Node("call", start, end + 1, tuple(parts))


def read(kernel, tokens):
    reader = Reader(kernel, tokens)
    node = reader.expression()
    assert reader.at == len(tokens), tokens
    return node


def values_of(kernel, statement):
    """The expressions of a statement that are values: (number of the part, node)."""
    if statement.kind == "store":
        reader = Reader(kernel, statement.parts[0])
        for node in reader.indices(0, len(statement.parts[0])):
            yield 0, node
        yield 1, read(kernel, statement.parts[1])
    elif statement.kind != "program":
        for i, part in enumerate(statement.parts[:2]):  # of a loop the bounds, not the step
            yield i, read(kernel, part)


# ---- what statements read and write ----

def uses(kernel, statement):
    """(names read, names written, tensors read, tensors written), of its blocks too."""
    read_names, written, loaded, stored = set(), set(), set(), set()
    for s in statement.walk():
        if s.kind == "store":
            stored.add(s.name)
        elif s.name is not None:
            written.add(s.name)
        for part in s.parts:
            names = {word for word in part if NAME.match(word)} - FIXED
            loaded |= names & kernel.tensors
            read_names |= names - kernel.tensors
    return read_names, written, loaded, stored


def must_follow(later, earlier):
    reads, writes, loads, stores = later
    first_reads, first_writes, first_loads, first_stores = earlier
    return bool((reads | writes) & first_writes or writes & first_reads or
                (loads | stores) & first_stores or stores & first_loads)


def reorder_block(kernel, block, random):
    for statement in block:
        for inner in statement.blocks:
            reorder_block(kernel, inner, random)
    left = [(s, uses(kernel, s)) for s in block]
    block.clear()
    while left:
        ready = [i for i in range(len(left))
                 if not any(must_follow(left[i][1], left[k][1]) for k in range(i))]
        if left[0][0].kind == "program":
            ready = [0]
        block.append(left.pop(random.choice(ready))[0])


def separate(kernel, block, defined):
    """Gives what a loop has for itself a name of its own, so that loops may change places."""
    for s in block:
        inner = set(defined)
        if s.kind == "for":
            own = {x.name for x in s.walk() if x.kind in ("assign", "for")} - defined
            names = {name: fresh_name(kernel) for name in sorted(own)}
            for x in s.walk():
                x.name = names.get(x.name, x.name)
                x.parts = [rename_tokens(part, names, keyword_words(part)) for part in x.parts]
            inner.add(s.name)
        for below in s.blocks:
            separate(kernel, below, set(inner))
        defined |= {x.name for x in s.walk() if x.kind == "assign"}


def reorder(kernel, random):
    separate(kernel, kernel.body, set())
    reorder_block(kernel, kernel.body, random)


# ---- names ----

def keyword_words(tokens):
    """Places of keywords in calls, and of the words behind them that are no values."""
    places = set()
    for i in range(1, len(tokens) - 1):
        if tokens[i] == "=" and NAME.match(tokens[i - 1]) and tokens[i - 1] != "fill":
            places |= {i - 1, i + 1}
    return places


def rename_tokens(tokens, names, fixed):
    return [names.get(word, word) if i not in fixed else word for i, word in enumerate(tokens)]


def rename(kernel, random):
    """Names all things anew, also by words of C and of the emitted text; {old: new}."""
    taken = ["int", "float", "while", "return", "lane", "thread", "main", "arguments", "word", "t",
             "x", "v1_0", "e", "i", "row", "N", "T", "at", "static", "__v", "_", "Z9", "a_b"]
    words = words_of(kernel)
    old = sorted({w for w in words if NAME.match(w)} - FIXED - policies(kernel))
    random.shuffle(taken)
    spare = [f"n{i}" for i in range(len(old))]
    new = [taken.pop() if taken and random.random() < 0.4 else spare[i] for i in range(len(old))]
    random.shuffle(new)
    names = dict(zip(old, new))
    layout_words = {i for i in keyword_words(kernel.head) if kernel.head[i + 1] == "="}
    kernel.head = rename_tokens(kernel.head, names, layout_words | {1})
    kernel.head[1] = random.choice(["int", "main", "x", "exp", "K", "_", "argument"])
    for s in kernel.walk():
        s.name = names.get(s.name, s.name)
        s.parts = [rename_tokens(part, names, keyword_words(part)) for part in s.parts]
    for field in ("tensors", "constants", "types"):
        setattr(kernel, field, {names[name] for name in getattr(kernel, field)})
    return names


def words_of(kernel):
    return set(kernel.head[2:]) | {w for s in kernel.walk() for part in s.parts for w in part} | \
        {s.name for s in kernel.walk() if s.name}


def policies(kernel):
    """Keywords of calls and layouts, and their words, where no name is called so."""
    keywords = keyword_words(kernel.head)
    found = {kernel.head[i] for i in keywords}
    other = {word for i, word in enumerate(kernel.head) if i not in keywords}
    for s in kernel.walk():
        other.add(s.name)
        for part in s.parts:
            places = keyword_words(part)
            found |= {part[i] for i in places}
            other |= {word for i, word in enumerate(part) if i not in places}
    return found - other


# ---- parts of expressions ----

def fresh_name(kernel):
    words = words_of(kernel)
    while True:
        kernel.fresh += 1
        if f"part{kernel.fresh}" not in words:
            return f"part{kernel.fresh}"


def name_one(kernel, statement, random):
    """A part of the statement as a statement of its own, which stands before it; None: there is
    nothing to name."""
    found = [(part, node) for part, whole in values_of(kernel, statement) for node in whole.walk()
             if node.typed and node.kind in ("call", "index", "operator")]
    if not found:
        return None
    part, node = random.choice(found)
    tokens, name = statement.parts[part], fresh_name(kernel)
    value = tokens[node.start:node.end]
    statement.parts[part] = tokens[:node.start] + [name] + tokens[node.end:]
    return Statement("assign", name, [value])


def name_block(kernel, block, random):
    done = 0
    while done < len(block):
        statement = block[done]
        for inner in statement.blocks:
            name_block(kernel, inner, random)
        while random.random() < SHARE:
            before = name_one(kernel, statement, random)
            if before is None:
                break
            block.insert(done, before)
            done += 1
        done += 1


def name_parts(kernel, random):
    name_block(kernel, kernel.body, random)


def may_move(kernel, block, at, end):
    """Whether the value of statement `at` is the same in front of statement `end`, and in it."""
    reads, _, loads, _ = uses(kernel, block[at])
    for statement in block[at + 1:end + 1]:
        _, written, _, stored = uses(kernel, statement)
        last = statement is block[end] and not statement.blocks
        if not last and (written & reads or stored & loads):
            return False
    return True


def in_loops(statement):
    yield statement
    if statement.kind == "for":
        for inner in statement.blocks[0]:
            yield from in_loops(inner)


def places_of(kernel, block, name, at):
    """Where the name that statement `at` gives is read: [(number in the block, statement, part,
    node)], of which the statement may be one of a loop; None: also elsewhere than in values there.
    What stands before a branch is not computed in it."""
    places, loads = [], uses(kernel, block[at])[2]
    for number, outer in enumerate(block[at + 1:], at + 1):
        for statement in [outer] if loads else in_loops(outer):
            places += [(number, statement, part, node)
                       for part, whole in values_of(kernel, statement) for node in whole.walk()
                       if node.kind == "name" and statement.parts[part][node.start] == name]
    count = sum(word == name for s in kernel.walk() for part in s.parts for word in part)
    return places if places and len(places) == count else None


def write_out_one(kernel, block, at):
    statement = block[at]
    if statement.kind != "assign" or not read(kernel, statement.parts[0]).typed:
        return False
    written = sum(s.name == statement.name for s in kernel.walk() if s.kind != "store")
    places = places_of(kernel, block, statement.name, at)
    if written != 1 or places is None or (kernel.has_layouts and len(places) > 1):
        return False
    if not all(may_move(kernel, block, at, place[0]) for place in places):
        return False
    if any(user.parts[part][node.end:node.end + 1] == [":"] for _, user, part, node in places):
        return False  # ranges that begin at one name have one domain
    value = ["("] + statement.parts[0] + [")"]
    for _, user, part, node in sorted(places, key=lambda place: -place[3].start):
        user.parts[part] = user.parts[part][:node.start] + value + user.parts[part][node.end:]
    del block[at]
    return True


def write_out_block(kernel, block, random):
    at = 0
    while at < len(block):
        for inner in block[at].blocks:
            write_out_block(kernel, inner, random)
        if random.random() >= SHARE or not write_out_one(kernel, block, at):
            at += 1


def write_out(kernel, random):
    write_out_block(kernel, kernel.body, random)
