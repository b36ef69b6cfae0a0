"""Which of the plans that the planner lists are measured. No framework is needed to read this.

`croft plan --all --json` lists candidates; those that are legal and differ in more than the name of
a rule are plans. Of more than are wanted the BEST ones of the model are taken, and the others so
that every number of lanes, vector, rows a group and storage is there about equally often.

    {"name": "p0", "choice": {"w": 256, ...}, "set": "w=256,...", "storage": "t:registers",
     "chosen": true, "predicted_us": 12.3, "causes": {"memory": 9.1, ...}, "features": {...}}
"""
import random

BEST = 16             # of the model, always taken
MOST = 256            # of a case
# The family that regret is about; of others more than the best are taken only where it is small.
FAMILY = {"w": {8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024}, "v": {1, 2, 4, 8},
          "p": {1, 2, 4, 8}}
NUMBERS = ("w", "v", "u", "p", "g")
RULES = ("chunk", "shift", "keep")
SPREAD = ("w", "v", "p", "chunk", "storage")


def plan_of(candidate, model):
    """What is kept of a candidate, or None where it is refused or the model has no price."""
    price = candidate.get("prices", {}).get(model, {})
    if "refused" in candidate or "total" not in price:
        return None
    choice = {key: candidate[key] for key in (*NUMBERS, *RULES)}
    if candidate["b"] > 1:  # groups of a cluster
        choice["b"] = candidate["b"]
    facts = {key: candidate[key] for key in ("features", "launches") if key in candidate}
    return {"choice": choice, "set": ",".join(f"{key}={value}" for key, value in choice.items()),
            "storage": " ".join(f"{one['value']}:{one['kept']}" for one in candidate["storage"]),
            "chosen": candidate["chosen"], "predicted_us": price["total"],
            "causes": {one["name"]: one["amount"] for one in price.get("causes", [])}, **facts}


def legal_plans(answer):
    """The plans of an answer of `croft plan --all --json`, the cheapest first; of rules that keep
    every value alike the first one, or the one that the planner took."""
    found = {}
    for candidate in answer["candidates"]:
        plan = plan_of(candidate, answer["model"])
        if plan:
            digits = (plan["choice"][name] for name in (*NUMBERS, "chunk", "shift"))
            key = (*digits, plan["storage"])
            if key not in found or plan["chosen"]:
                found[key] = plan
    return sorted(found.values(), key=lambda plan: plan["predicted_us"])


def is_of_family(plan):
    return all(plan["choice"][name] in values for name, values in FAMILY.items())


def value_of(plan, name):
    return plan["storage"] if name == "storage" else plan["choice"][name]


def spread(taken, others, count, source):
    """`count` of the others, each time one whose values are the rarest among those taken."""
    seen = {}
    for plan in taken:
        for name in SPREAD:
            seen[name, value_of(plan, name)] = seen.get((name, value_of(plan, name)), 0) + 1
    others, found = list(others), []
    source.shuffle(others)
    while others and len(found) < count:
        rarest = min(others, key=lambda plan: sum(seen.get((name, value_of(plan, name)), 0)
                                                  for name in SPREAD))
        others.remove(rarest)
        found.append(rarest)
        for name in SPREAD:
            seen[name, value_of(rarest, name)] = seen.get((name, value_of(rarest, name)), 0) + 1
    return found


def choose(answer, most, seed):
    """(plans that are measured, how many are legal); the same for the same seed."""
    legal = legal_plans(answer)
    most = min(most, MOST)
    taken = legal if len(legal) <= most else \
        [plan for index, plan in enumerate(legal) if index < BEST or plan["chosen"]]
    source = random.Random(seed)
    left = [plan for plan in legal if plan not in taken] if len(taken) < most else []
    for group in ([plan for plan in left if is_of_family(plan)],
                  [plan for plan in left if not is_of_family(plan)]):
        taken = taken + spread(taken, group, most - len(taken), source)
    return [dict(plan, name=f"p{index}") for index, plan in enumerate(taken)], len(legal)
