"""What a terminal shows of the bytes that programs write to it."""
import re

PIECE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\r\n\x1b]+|\x1b")


def rows_of(text):
    """The rows on the screen from top to bottom, of a terminal that is wide enough; colours are left out."""
    rows, column = [""], 0
    for piece in PIECE.findall(text.decode(errors="replace")):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            rows.append("")
        elif piece == "\x1b[K":
            rows[-1] = rows[-1][:column]
        elif not piece.startswith("\x1b"):
            rows[-1] = rows[-1][:column].ljust(column) + piece + rows[-1][column + len(piece):]
            column += len(piece)
    return rows
