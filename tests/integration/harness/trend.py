"""Does a series of samples grow? Least squares over its second half; a line of text and an SVG to look at."""
from dataclasses import dataclass

_BARS = "▁▂▃▄▅▆▇█"


@dataclass
class Trend:
    """What the second half of a series does: the straight line through it, and the verdict."""
    name: str
    unit: str
    seconds: list
    values: list
    most_growth: float  # of the line from the middle to the end of the run

    def second_half(self):
        middle = (self.seconds[0] + self.seconds[-1]) / 2
        return [(s, v) for s, v in zip(self.seconds, self.values) if s >= middle]

    def line(self):
        """(value at the middle, value at the end) of the least-squares line."""
        points = self.second_half()
        n = len(points)
        mean_s, mean_v = sum(s for s, _ in points) / n, sum(v for _, v in points) / n
        spread = sum((s - mean_s) ** 2 for s, _ in points)
        slope = sum((s - mean_s) * (v - mean_v) for s, v in points) / spread if spread else 0.0
        return mean_v + slope * (points[0][0] - mean_s), mean_v + slope * (points[-1][0] - mean_s)

    def growth(self):
        begin, end = self.line()
        return end - begin

    def ok(self):
        return self.growth() <= self.most_growth

    def sentence(self):
        per_hour = self.growth() / max(self.second_half()[-1][0] - self.second_half()[0][0], 1e-9) * 3600
        return (f"{self.name}: {min(self.values):.1f}..{max(self.values):.1f} {self.unit}, line of the second half "
                f"{self.growth():+.2f} {self.unit} ({per_hour:+.2f} an hour), allowed {self.most_growth:+g}: {'fine' if self.ok() else 'GROWS'}")

    def sparkline(self, width=60):
        cells = [max(self._between(i, width), default=None) for i in range(width)]
        low, high = min(self.values), max(self.values)
        scale = (len(_BARS) - 1) / (high - low) if high > low else 0
        return "".join(" " if c is None else _BARS[round((c - low) * scale)] for c in cells)

    def _between(self, i, width):
        begin, step = self.seconds[0], (self.seconds[-1] - self.seconds[0]) / width or 1
        return [v for s, v in zip(self.seconds, self.values) if i <= (s - begin) / step < i + 1]


def svg(trends, marks, title):
    """One panel a trend, one above the other; marks: seconds at which something was done to it, as ticks."""
    width, height, left, gap = 900, 180, 60, 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 20}" height="{(height + gap) * len(trends) + gap}" '
           'font-family="sans-serif" font-size="12">', f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="20">{title}</text>']
    for number, trend in enumerate(trends):
        top = gap + number * (height + gap)
        end, high = trend.seconds[-1] - trend.seconds[0] or 1, max(trend.values) * 1.1 or 1

        def place(second, value, trend=trend, top=top, end=end, high=high):
            return left + (second - trend.seconds[0]) / end * width, top + height - value / high * height

        out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>')
        ticks = "".join("M%.1f %dv8" % (place(trend.seconds[0] + second, 0)[0], top + height - 8) for second in marks)
        out.append(f'<path d="{ticks}" stroke="#999"/>')
        thin = max(1, len(trend.seconds) // 600)
        points = " ".join("%.1f,%.1f" % place(s, v) for s, v in list(zip(trend.seconds, trend.values))[::thin])
        out.append(f'<polyline points="{points}" fill="none" stroke="#06c"/>')
        half, (begin_v, end_v) = trend.second_half(), trend.line()
        (x1, y1), (x2, y2) = place(half[0][0], begin_v), place(half[-1][0], end_v)
        out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#c00" stroke-width="2"/>')
        out.append(f'<text x="{left + 6}" y="{top + 16}">{trend.name}, {trend.unit}</text>')
        out.append(f'<text x="4" y="{top + 12}">{high:.0f}</text><text x="4" y="{top + height}">0</text>')
        out.append(f'<text x="{left + width - 60}" y="{top + height + 14}">{end / 60:.1f} min</text>')
    return "\n".join(out) + "\n</svg>\n"
