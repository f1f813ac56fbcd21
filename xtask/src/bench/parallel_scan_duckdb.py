# Prints the rate of SELECT sum() over a BIGINT column in memory, in bytes per second: the median of
# nine runs.
import sys, time
import duckdb

values = int(sys.argv[1])
db = duckdb.connect(":memory:")
db.execute("SET enable_progress_bar = false")
# 24-bit values as in the instance's column, hashed so that DuckDB cannot treat them as a sequence.
db.execute(f"CREATE TABLE t AS SELECT (hash(i) >> 40)::BIGINT AS v FROM range({values}) r(i)")
times = []
for _ in range(10):
    start = time.perf_counter()
    total = db.execute("SELECT sum(v) FROM t").fetchone()[0]
    times.append(time.perf_counter() - start)
assert total > 0
median = sorted(times[1:])[4]
print(values * 8 / median)
