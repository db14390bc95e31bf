-- Made by `.ci/generate` from the JSON schema of `rejoin list --json`.
CREATE TABLE IF NOT EXISTS sessions (
    `day` Date,
    `host` LowCardinality(String),
    `active_at` Nullable(DateTime64(9, 'UTC')),
    `active_source` Nullable(String),
    `agent` LowCardinality(String),
    `copies` Array(Tuple(`active_at` Nullable(DateTime64(9, 'UTC')), `chosen` Bool, `compared` Nullable(String), `diverged_at_record` Nullable(UInt64), `messages` Nullable(UInt64), `path` String, `path_bytes_base64` Nullable(String), `project` Nullable(String), `size_bytes` UInt64, `why` Nullable(String))),
    `created_at` Nullable(DateTime64(9, 'UTC')),
    `first_prompt` Nullable(String),
    `git_branch` Nullable(String),
    `health` Array(LowCardinality(String)),
    `id` String,
    `kind` LowCardinality(String),
    `last_dir` Nullable(String),
    `launch_dir` Tuple(`exists` Nullable(Bool), `path` String, `path_bytes_base64` Nullable(String), `source` String),
    `liveness` String,
    `model` Nullable(String),
    `parent_id` Nullable(String),
    `pinned` Bool,
    `pointers` Array(Tuple(`agent` LowCardinality(String), `dir` String, `name` Nullable(String), `path` String, `session_id` Nullable(String), `written_at` Nullable(DateTime64(9, 'UTC')))),
    `process` Tuple(`pid` Nullable(UInt64), `started_at` Nullable(DateTime64(9, 'UTC')), `state` LowCardinality(String)),
    `project` Nullable(String),
    `prompts` Nullable(UInt64),
    `replies` Nullable(UInt64),
    `resumable` Bool,
    `resume` Tuple(`argv` Array(String), `dir` Nullable(String), `dir_bytes_base64` Nullable(String), `set` Map(String, String), `then_type` Nullable(String), `unset` Array(String)),
    `size_bytes` UInt64,
    `start_dir` Nullable(String),
    `tags` Array(String),
    `title` Nullable(String)
)
ENGINE = ReplacingMergeTree(day)
ORDER BY (host, agent, id);
