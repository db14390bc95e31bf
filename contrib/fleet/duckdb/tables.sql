-- What DuckDB reads, where the files lie. `root` is the place that rejoin-fleet writes to:
--   duckdb -cmd "SET VARIABLE root = '/mnt/fleet'" -init columns.sql

-- The newest file of each host: one that is off today still counts with its last.
CREATE OR REPLACE MACRO newest(name) AS (
    SELECT coalesce(list(file), []) FROM (
        SELECT max(file) AS file FROM glob(getvariable('root') || '/' || name || '/day=*/host=*/rows.ndjson.zst')
        GROUP BY regexp_extract(file, 'host=([^/]*)', 1)
    )
);
SET VARIABLE sessions = newest('sessions');
SET VARIABLE archived = newest('archived');
SET VARIABLE expiring = newest('expiring');

CREATE OR REPLACE TEMP VIEW sessions AS SELECT * FROM sessions_in(getvariable('sessions'));
CREATE OR REPLACE TEMP VIEW archived AS
SELECT host, agent, id FROM read_json(getvariable('archived'), format = 'newline_delimited', hive_partitioning = true,
    columns = {agent: 'VARCHAR', id: 'VARCHAR'});
CREATE OR REPLACE TEMP VIEW expiring AS
SELECT host, unnest(sessions, recursive := true) FROM read_json(getvariable('expiring'), format = 'newline_delimited',
    hive_partitioning = true, columns = {sessions: 'STRUCT(agent VARCHAR, id VARCHAR)[]'});
-- Every file that there is, for what changes with the days.
CREATE OR REPLACE TEMP VIEW sizes AS
SELECT day, host, agent, count(*) AS sessions, sum(size_bytes) AS bytes
FROM read_json(getvariable('root') || '/sessions/day=*/host=*/rows.ndjson.zst', format = 'newline_delimited',
    hive_partitioning = true, columns = {agent: 'VARCHAR', size_bytes: 'UBIGINT'})
GROUP BY ALL;
