"""benchmarks/side_plot.py -- the picture of a side-by-side run: what part of the device's limit kiln and the best peer reach."""
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH, TOP = 26, 230, 520, 52
KILN, PEER, INK, FAINT = "#b5442c", "#9aa5b1", "#222222", "#d8dde3"


def text(x, y, words, size=12, anchor="start", colour=INK):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def bar(y, part, colour):
    return f'<rect x="{LEFT}" y="{y:.1f}" width="{WIDTH * min(part, 1.1):.1f}" height="9" fill="{colour}"/>'


def svg(rows, titles):
    height = TOP + ROW * len(rows) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 170}" height="{height}" font-family="sans-serif">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(LEFT, 20, "part of the device's copy or read, measured in the same run", 13)]
    out += [bar(30, 0.03, KILN), text(LEFT + 22, 39, "kiln", 11), f'<rect x="{LEFT + 70}" y="30" width="16" height="9" fill="{PEER}"/>',
            text(LEFT + 92, 39, "best peer (named at the right)", 11)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = LEFT + WIDTH * tick
        out += [f'<line x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{height - 28}" stroke="{FAINT if tick < 1 else INK}"/>',
                text(x, height - 12, f"{tick:g}", 11, "middle")]
    for i, row in enumerate(rows):
        y = TOP + ROW * i
        kiln, best = row["of_limit"]["kiln"], row["best_peer"]
        out += [text(LEFT - 8, y + 13, row["case"], 11, "end"), bar(y, kiln, KILN)]
        words = f"{kiln:.2f}"
        if best:
            out.append(bar(y + 10, row["of_limit"][best], PEER))
            words += f"  (÷ {titles[best]}: {kiln / row['of_limit'][best]:.2f})"
        out.append(text(LEFT + WIDTH * 1.1 + 6, y + 13, words, 11))
    return "\n".join(out + ["</svg>", ""])
