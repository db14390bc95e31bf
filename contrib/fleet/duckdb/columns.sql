-- Made by `.ci/generate` from the JSON schema of `rejoin list --json`.
CREATE OR REPLACE MACRO sessions_in(files) AS TABLE
SELECT * FROM read_json(files, format = 'newline_delimited', hive_partitioning = true, columns = {
    active_at: 'TIMESTAMP',
    active_source: 'VARCHAR',
    agent: 'VARCHAR',
    copies: 'STRUCT("active_at" TIMESTAMP, "chosen" BOOLEAN, "compared" VARCHAR, "diverged_at_record" UBIGINT, "messages" UBIGINT, "path" VARCHAR, "path_bytes_base64" VARCHAR, "project" VARCHAR, "size_bytes" UBIGINT, "why" VARCHAR)[]',
    created_at: 'TIMESTAMP',
    first_prompt: 'VARCHAR',
    git_branch: 'VARCHAR',
    health: 'VARCHAR[]',
    id: 'VARCHAR',
    kind: 'VARCHAR',
    last_dir: 'VARCHAR',
    launch_dir: 'STRUCT("exists" BOOLEAN, "path" VARCHAR, "path_bytes_base64" VARCHAR, "source" VARCHAR)',
    liveness: 'VARCHAR',
    model: 'VARCHAR',
    parent_id: 'VARCHAR',
    pinned: 'BOOLEAN',
    pointers: 'STRUCT("agent" VARCHAR, "dir" VARCHAR, "name" VARCHAR, "path" VARCHAR, "session_id" VARCHAR, "written_at" TIMESTAMP)[]',
    project: 'VARCHAR',
    prompts: 'UBIGINT',
    replies: 'UBIGINT',
    resumable: 'BOOLEAN',
    resume: 'STRUCT("argv" VARCHAR[], "dir" VARCHAR, "dir_bytes_base64" VARCHAR, "set" MAP(VARCHAR, VARCHAR), "then_type" VARCHAR, "unset" VARCHAR[])',
    size_bytes: 'UBIGINT',
    start_dir: 'VARCHAR',
    title: 'VARCHAR'
});
