"""Makes the golden values of this folder: pip install lightgbm==4.7.0 numpy, then python make.py

The numbers of the sets are those of tests/bandit/ranking/ranking-sets.ts: whole numbers are mixed, and then only added,
multiplied and compared, so that both languages have the same bits.
"""
import json

import lightgbm as lgb
import numpy as np

ROWS_PER_QUERY = 20
TRAINING, TEST = 400, 1000
COLUMNS = 8
DRAWS = 24


def uniform(seed, index):
    """The finaliser of MurmurHash3, as a number in [0, 1)."""
    h = (np.asarray(index, dtype=np.uint64) * 0x9E3779B9 + seed) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = ((h ^ (h >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return h.astype(np.float64) / 2.0**32


def ranking_set(kind, queries, seed):
    rows = queries * ROWS_PER_QUERY
    u = [uniform(seed, np.arange(rows, dtype=np.uint64) * DRAWS + draw) for draw in range(DRAWS)]
    x = [np.floor(u[j] * 1024) / 1024 for j in range(COLUMNS)]
    noise = u[20] + u[21] + u[22] - 1.5
    if kind == 'numeric':
        z = 2 * x[0] + 3 * x[1] * x[2] + (x[3] > 0.6) + noise
    elif kind == 'categories':
        for j in range(4):
            x[j] = np.floor(u[j] * 10)
        z = (x[0] * 7 + 3) % 10 / 5 + (x[1] * 3 + 1) % 10 / 10 + x[4] * (x[2] > 4) + noise
    else:
        x = [np.floor(column * 4) / 4 for column in x]
        for j in range(4):
            x[j] = np.where(u[10 + j] < 0.2, np.nan, x[j])
        z = np.where(np.isnan(x[0]), 1.5, 2 * x[0]) + np.where(np.isnan(x[1]), 0, x[1] * x[4] * 2) + x[5] + noise
    labels = (z > 2.0).astype(int) + (z > 2.8) + (z > 3.4)
    return np.stack(x, axis=1), labels


COMMON = dict(objective='lambdarank', num_threads=1, deterministic=True, verbose=-1, force_row_wise=True)


def train(x, y, rounds, **parameters):
    categorical = parameters.pop('categorical', 'auto')
    data = lgb.Dataset(x, y, group=[ROWS_PER_QUERY] * (len(y) // ROWS_PER_QUERY), categorical_feature=categorical)
    return lgb.train({**COMMON, **parameters}, data, rounds)


def ndcg(labels, scores, k):
    """Over the queries that have anything relevant."""
    found = []
    discounts = 1 / np.log2(2 + np.arange(ROWS_PER_QUERY))
    for begin in range(0, len(labels), ROWS_PER_QUERY):
        gains = 2.0 ** labels[begin:begin + ROWS_PER_QUERY] - 1
        best = (np.sort(gains)[::-1][:k] * discounts[:k]).sum()
        if best > 0:
            order = np.argsort(-scores[begin:begin + ROWS_PER_QUERY], kind='stable')
            found.append((gains[order][:k] * discounts[:k]).sum() / best)
    return float(np.mean(found))


def quality():
    out = []
    for kind in ('numeric', 'categories', 'missing'):
        x, y = ranking_set(kind, TRAINING, 1)
        tx, ty = ranking_set(kind, TEST, 2)
        for parameters in ({}, {'num_leaves': 7, 'min_data_in_leaf': 50, 'lambda_l2': 5, 'lambdarank_truncation_level': 5}):
            scores = train(x, y, 100, **parameters).predict(tx)
            out.append({'kind': kind, 'parameters': parameters, 'rounds': 100,
                        'ndcg5': round(ndcg(ty, scores, 5), 5), 'ndcg10': round(ndcg(ty, scores, 10), 5)})
            print(out[-1])
    return out


def models():
    few = dict(num_leaves=6, min_data_in_leaf=20)
    out = []
    for name, kind, parameters in (
        ('numbers', 'numeric', few),
        ('missing', 'missing', few),
        ('zero is missing', 'missing', {**few, 'zero_as_missing': True}),
        ('nothing is missing', 'missing', {**few, 'use_missing': False}),
        ('categories', 'categories', {**few, 'categorical': [0, 1, 2, 3], 'min_data_per_group': 10}),
        ('nothing to split', 'numeric', {**few, 'min_data_in_leaf': 100000}),
    ):
        x, y = ranking_set(kind, 40, 3)
        booster = train(x, y, 4, **parameters)
        rows = x[:24].copy()
        rows[0, :] = 0
        rows[1, :] = np.nan
        rows[2, :] = -3
        rows[3, :] = 1e9
        rows[4:8, 0:3] = np.nan
        rows[8, :] = 1e-40
        out.append({'name': name, 'saved': booster.model_to_string(), 'dumped': json.dumps(booster.dump_model()),
                    'rows': [[None if np.isnan(v) else v for v in row] for row in rows.tolist()],
                    'scores': booster.predict(rows, raw_score=True).tolist()})
    return out


with open('quality.json', 'w') as file:
    json.dump({'about': f'NDCG of LightGBM {lgb.__version__}, made by make.py.', 'quality': quality()}, file)
with open('models.json', 'w') as file:
    json.dump({'about': f'Models of LightGBM {lgb.__version__} and their scores, made by make.py.', 'models': models()}, file)
