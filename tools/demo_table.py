"""The demo's live table: figures of GET /api/v1/replicas, redrawn in place on a terminal, as plain lines
elsewhere."""
import json
from urllib.error import URLError
from urllib.request import urlopen

COLUMNS = [("replica", 34), ("up", 4), ("requests", 9), ("placed", 7), ("sticky", 7), ("spilled", 8), ("in flight", 10),
           ("cached tok", 11), ("computed tok", 13), ("cached", 7)]


def read_rows(admin):
    """The replicas of the admin API, each with its `cached` and `computed` prompt tokens; [] while it does not answer."""
    try:
        with urlopen(f"{admin}/api/v1/replicas", timeout=5) as answer:
            rows = json.load(answer)["replicas"]
    except (URLError, OSError, ValueError):
        return []
    for row in rows:
        row["cached"], row["computed"] = row["prompt_tokens"]["cached"], row["prompt_tokens"]["computed"]
    return rows


def line_of(row):
    turns, prompt = row["turns"], row["cached"] + row["computed"]
    values = [row["id"], "yes" if row["healthy"] else "no", sum(turns.values()), turns["placed"], turns["sticky"], turns["spilled"],
              row["in_flight"], row["cached"], row["computed"], f"{100 * row['cached'] // prompt}%" if prompt else "-"]
    return "".join(str(v).ljust(w) if n == 0 else str(v).rjust(w) for n, (v, (_, w)) in enumerate(zip(values, COLUMNS)))


class Table:
    def __init__(self, out):
        self.out, self.in_place = out, out.isatty()
        self.interval = 0.5 if self.in_place else 5.0
        self._lines = 0

    def show(self, rows, players, elapsed):
        if not rows:
            return
        failed = sum(p.failures for p in players)
        head = "".join(n.ljust(w) if i == 0 else n.rjust(w) for i, (n, w) in enumerate(COLUMNS))
        lines = [head, *map(line_of, rows),
                 f"{elapsed:5.1f} s   {len(players)} conversations   {sum(p.turns for p in players)} turns answered   {failed} failed"]
        errors = [p.last_error for p in players if p.last_error]
        lines += [f"last error: {errors[-1]}"[:110]] if errors else []
        if self.in_place:
            if self._lines:
                self.out.write(f"\x1b[{self._lines}A")
            self.out.write("".join(f"\x1b[2K{line}\n" for line in lines))
            self._lines = len(lines)
        else:
            self.out.write("\n".join(lines) + "\n\n")
        self.out.flush()


def summary(rows, rows_at_end, players, elapsed):
    turns, cached = sum(p.turns for p in players), sum(r["cached"] for r in rows)
    prompt = cached + sum(r["computed"] for r in rows)
    routes = {}
    for player in players:
        for route, count in player.routes.items():
            routes[route] = routes.get(route, 0) + count
    share = f"{100 * cached / prompt:.0f} %" if prompt else "none"
    told = ", ".join(f"{count} {route}" for route, count in sorted(routes.items(), key=lambda r: -r[1]))
    return (f"\n{turns} turns of {sum(p.started for p in players)} conversations in {elapsed:.0f} s, {sum(p.failures for p in players)} failed{': ' + told if told else ''}.\n"
            f"{prompt} prompt tokens, {share} of them came out of a cache. In flight at the end: {sum(r['in_flight'] for r in rows_at_end):g}.")
