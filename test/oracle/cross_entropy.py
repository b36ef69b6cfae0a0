"""Cross-entropy with a label a row: log sum_j exp(x_j) - x_label; 0 where the label is `ignore`.

A label outside the row (and not ignored) picks a logit of 0, as the kernel's fill says.
"""
import numpy as np

import arrays


def cross_entropy(logits, label, ignore=-100):
    m = arrays.row_max(logits)
    log_sum = (np.log(arrays.row_sum(np.exp(logits - m))) + m)[:, 0]
    inside = (label >= 0) & (label < logits.shape[1])
    picked = np.zeros(len(label))
    picked[inside] = logits[np.flatnonzero(inside), label[inside]]
    return {"loss": np.where(label == ignore, 0.0, log_sum - picked)}


if __name__ == "__main__":
    arrays.run(cross_entropy, floats=["logits"], integers=["label"], outputs=["loss"],
               scalars={"ignore": -100})
