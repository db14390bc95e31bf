-- Loads the files of a day; `{day}` and `{root}` are filled in by whoever runs it. On a server, file() becomes s3() or url().
SET date_time_input_format = 'best_effort', use_hive_partitioning = 1;
INSERT INTO sessions SELECT * FROM file('{root}/sessions/day={day}/host=*/rows.ndjson.zst', JSONEachRow);
INSERT INTO archived SELECT day, host, agent, id
FROM file('{root}/archived/day={day}/host=*/rows.ndjson.zst', JSONEachRow, 'day Date, host String, agent String, id String');
INSERT INTO expiring SELECT day, host, session.1, session.2
FROM file('{root}/expiring/day={day}/host=*/rows.ndjson.zst', JSONEachRow,
    'day Date, host String, sessions Array(Tuple(agent String, id String))') ARRAY JOIN sessions AS session;
INSERT INTO sizes SELECT day, host, agent, count(), sum(size_bytes)
FROM file('{root}/sessions/day={day}/host=*/rows.ndjson.zst', JSONEachRow, 'day Date, host String, agent String, size_bytes UInt64')
GROUP BY day, host, agent;
