-- The tables beside `sessions`, which columns.sql makes.
CREATE TABLE IF NOT EXISTS archived (day Date, host LowCardinality(String), agent LowCardinality(String), id String)
ENGINE = ReplacingMergeTree(day) ORDER BY (host, agent, id);
CREATE TABLE IF NOT EXISTS expiring (day Date, host LowCardinality(String), agent LowCardinality(String), id String)
ENGINE = ReplacingMergeTree(day) ORDER BY (host, agent, id);
-- What changes with the days: a table of its own, because `sessions` keeps the newest state alone.
CREATE TABLE IF NOT EXISTS sizes (day Date, host LowCardinality(String), agent LowCardinality(String), sessions UInt64, bytes UInt64)
ENGINE = ReplacingMergeTree ORDER BY (day, host, agent);
