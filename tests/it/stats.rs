//! `stats`: sessions in numbers.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixtures::{Claude, Codex, Gemini, Kimi, Pi, Qwen, id};
use crate::world::World;

fn numbers(world: &World, args: &[&str]) -> Value {
    world.rejoin(["stats", "--json"].iter().chain(args)).code(0).stderr_eq("").json()
}

/// Returns the row of a value.
fn row<'v>(answer: &'v Value, by: &str, key: impl Into<Value>) -> &'v Value {
    let key = key.into();
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["by"] == by && row["key"] == key).unwrap_or_else(|| panic!("{key} is not in {answer}"))
}

fn usage(input: u64, made: u64, cached: u64, output: u64) -> Value {
    json!({"input_tokens": input, "cache_creation_input_tokens": made, "cache_read_input_tokens": cached,
        "output_tokens": output})
}

/// Adds a reply with this usage, in two records, as Claude Code writes it.
fn reply(session: Claude, id: &str, usage: &Value) -> Claude {
    let record = |text: &str| {
        json!({"id": id, "role": "assistant", "model": "model-a", "usage": usage,
            "content": [{"type": "text", "text": text}]})
    };
    session.message("assistant", &record("one"), &json!({})).message("assistant", &record("two"), &json!({}))
}

#[test]
fn stats_count_by_agent_project_model_and_week() {
    let world = World::new();
    let (a, b) = (world.dir("a"), world.dir("b"));
    world.add(Claude::session(id(1)).in_dir(&a).at("2026-02-02T10:00:00Z").turn("x", "y").turn("z", "w"));
    world.add(
        Claude::session(id(2)).in_dir(&b).at("2026-02-09T10:00:00Z").turn("x", "y").subagent("agent-a1", "q", "r"),
    );
    world.add(Codex::session(id(3)).in_dir(&a).turn("x", "y"));
    let answer = numbers(&world, &[]);
    assert_eq!((&answer["kind"], &answer["total"]["sessions"]), (&json!("stats"), &json!(3)));
    assert_eq!((&answer["total"]["prompts"], &answer["total"]["replies"]), (&json!(4), &json!(4)));
    assert_eq!(row(&answer, "agent", "claude")["sessions"], 2);
    assert_eq!(row(&answer, "agent", "codex")["prompts"], 1);
    assert_eq!(row(&answer, "project", a.to_str().expect("a path"))["sessions"], 2);
    assert_eq!(row(&answer, "week", "2026-02-02")["sessions"], 1);
    assert_eq!(row(&answer, "week", "2026-02-09")["active_days"], 1);
    // The filters of `list` apply.
    let answer = numbers(&world, &["--dir", a.to_str().expect("a path"), "--by", "agent"]);
    assert_eq!(answer["rows"].as_array().expect("rows").len(), 2);
    assert_eq!(answer["total"]["sessions"], 2);
    assert_eq!(numbers(&world, &["--since", "2027"])["total"]["sessions"], 0);
}

#[test]
fn stats_count_only_recorded_tokens() {
    let world = World::new();
    let one = reply(Claude::session(id(1)).in_dir("/usr").prompt("x"), "m1", &usage(1, 10, 100, 5));
    world.add(reply(one.prompt("y"), "m2", &usage(2, 0, 200, 7)));
    world.add(Kimi::session(id(2)).in_dir("/usr").turn("x", "y"));
    let answer = numbers(&world, &["--by", "agent"]);
    let tokens = json!({"input": 313, "cached": 300, "output": 12});
    assert_eq!(row(&answer, "agent", "claude")["tokens"], tokens);
    assert_eq!(row(&answer, "agent", "kimi")["tokens"], Value::Null);
    assert_eq!(answer["total"]["tokens"], tokens);
    world.add(Gemini::session(id(3)).in_dir("/usr").turn("x", "y"));
    numbers(&world, &[]);
}

#[test]
fn stats_sum_tokens_of_trees_and_databases() {
    let world = World::new();
    let reply = json!({"role": "assistant", "content": [{"type": "text", "text": "y"}], "model": "m", "stopReason": "stop",
        "usage": {"input": 10, "output": 3, "cacheRead": 20, "cacheWrite": 1}});
    world.add(Pi::session(id(1)).in_dir("/usr").prompt("x").message(&reply).message(&reply));
    assert_eq!(numbers(&world, &[])["total"]["tokens"], json!({"input": 62, "cached": 40, "output": 6}));
    #[cfg(feature = "sqlite")]
    {
        use crate::fixtures::{OpenCode, opencode_id};
        let database = world.add(OpenCode::session(opencode_id(2)).in_dir("/usr").turn("x", "y"));
        let of_opencode = || row(&numbers(&world, &["--by", "agent"]), "agent", "opencode")["tokens"].clone();
        assert_eq!(of_opencode(), Value::Null, "its tables are those of a version without sums");
        let connection = rusqlite::Connection::open(database).expect("a database");
        let columns = ["input", "output", "reasoning", "cache_read", "cache_write"];
        for (at, column) in columns.iter().enumerate() {
            let sql = format!(
                "ALTER TABLE session ADD COLUMN tokens_{column} INTEGER DEFAULT {}",
                10_i32.pow(u32::try_from(at).expect("a place"))
            );
            connection.execute(&sql, []).expect("a column");
        }
        drop(connection);
        assert_eq!(of_opencode(), json!({"input": 11_001, "cached": 1_000, "output": 110}));
    }
}

#[test]
fn stats_ignore_impossible_token_counts() {
    let world = World::new();
    let most = u64::MAX;
    world.add(reply(Claude::session(id(1)).in_dir("/usr").prompt("x"), "m1", &usage(most, most, most, most)));
    world.add(reply(Claude::session(id(2)).in_dir("/usr").prompt("x"), "m1", &usage(most, 1, 1, 1)));
    let bad = json!({"input_tokens": "many", "output_tokens": -1});
    world.add(reply(Claude::session(id(3)).in_dir("/usr").prompt("x"), "m1", &bad));
    assert_eq!(numbers(&world, &[])["total"]["tokens"]["input"], most);
    world.on_terminal(60, ["stats"]).code(0);
}

#[test]
fn piped_stats_have_one_line_per_row() {
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir("/usr").turn("x", "y"));
    let lines = world.rejoin(["stats", "--by", "agent,project"]).code(0).stderr_eq("").stdout();
    let fields: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(fields.len(), 2, "{lines}");
    assert!(fields.iter().all(|line| line.len() == 11), "{lines}");
    assert_eq!(
        (&fields[0][..5], &fields[1][..3]),
        (&["agent", "codex", "1", "1", "1"][..], &["project", "/usr", "1"][..])
    );
}

#[test]
fn tables_fit_a_terminal_of_any_width() {
    let world = World::new();
    for n in 1..15 {
        let dir = world.dir(&format!("a/rather/long/path/to/the/project-{n}"));
        world.add(Claude::session(id(n)).in_dir(dir).turn("x", "y"));
    }
    for columns in [40_u16, 60, 80, 200] {
        let shown = world.on_terminal(columns, ["stats", "--color", "never"]).code(0).stdout();
        for line in shown.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{columns} columns: {line}");
        }
        assert!(shown.contains("4 more: rejoin stats --by project"), "{shown}");
    }
    let shown = world.on_terminal(80, ["stats", "--by", "project"]).code(0).stdout();
    assert!(!shown.contains("more:") && shown.contains("project-14"), "{shown}");
}

#[test]
fn future_timestamp_is_not_an_active_day() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir("/usr").at("2100-01-01T10:00:00Z").turn("x", "y"));
    let answer = numbers(&world, &["--by", "week"]);
    assert_eq!((&answer["total"]["sessions"], &answer["total"]["active_days"]), (&json!(2), &json!(1)), "{answer}");
    assert_eq!(row(&answer, "week", Value::Null)["sessions"], 1);
}

/// Returns how often a command reads a file to its end, from the system calls of one thread.
pub(crate) fn passes(world: &World, args: &[&str], path: &Path) -> u64 {
    let call = world.with("RAYON_NUM_THREADS", "1");
    let (answer, trace) = call.under_strace(&["trace=read,pread64"], args);
    answer.code(0);
    let name = format!("{}>", path.display());
    let reads = trace.lines().filter(|line| line.contains(&name)).filter_map(|line| line.rsplit_once("= "));
    let bytes: u64 = reads.filter_map(|(_, count)| count.parse::<u64>().ok()).sum();
    bytes / std::fs::metadata(path).expect("a transcript").len()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "strace shows the reads")]
fn counts_usage_and_days_need_one_pass() {
    if !crate::survival::has_strace() {
        return;
    }
    let (world, text) = (World::new(), "word ".repeat(1000));
    fn turns<S>(session: S, turn: impl Fn(S) -> S) -> S {
        (0..100).fold(session, |session, _| turn(session))
    }
    let claude = world.add(turns(Claude::session(id(1)), |session| session.turn(&text, &text)));
    let codex = world.add(turns(Codex::session(id(2)), |session| session.turn(&text, &text)));
    let pi = world.add(turns(Pi::session(id(3)), |session| session.turn(&text, &text)));
    let qwen = world.add(turns(Qwen::session(id(4)), |session| session.turn(&text, &text)));
    let gemini = world.add(turns(Gemini::session(id(5)), |session| session.turn(&text, &text)));
    let all = [claude, codex, pi, qwen, gemini];
    for args in [&["list", "--counts", "--json"][..], &["list", "--fields", "id,prompts,cost"]] {
        assert_eq!(all.each_ref().map(|path| passes(&world, args, path)), [1; 5], "{args:?}");
    }
    // The messages of Gemini CLI are read from their last lines.
    assert_eq!(all[..4].iter().map(|path| passes(&world, &["stats"], path)).collect::<Vec<_>>(), [1; 4]);
}

/// Adds the tokens so far and those of the last reply, as numbers of read and written ones.
fn spent(session: Codex, total: [u64; 2], last: [u64; 2]) -> Codex {
    let usage =
        |[input, output]: [u64; 2]| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output});
    let info = json!({"total_token_usage": usage(total), "last_token_usage": usage(last)});
    session.record("event_msg", json!({"type": "token_count", "info": info}))
}

#[test]
fn copied_history_of_codex_parent_counts_once() {
    let bricks = |session: Codex| spent(session.turn("count the bricks", "counted"), [1000, 50], [1000, 50]);
    let copied = |session: Codex| bricks(session.record("session_meta", json!({"id": id(1), "source": "cli"})));
    let mortar = |session: Codex| spent(session.turn("check the mortar", "mortar ok"), [1200, 60], [200, 10]);
    let child = |n| Codex::session(id(n)).in_dir("/usr").subagent_of(&id(1));
    let base = json!({"thread_id": id(1), "end_ordinal_exclusive": 10, "end_byte_offset": 1_000_000});
    let fork = |n| Codex::session(id(n)).in_dir("/usr").fork_of(&id(1));
    // The copied records of older versions have no ordinals.
    let cases = [
        ("old sub-agents", [2, 3].map(|n| mortar(copied(child(n).in_old_words()))), 1),
        ("sub-agents", [2, 3].map(|n| mortar(copied(child(n).meta("subagent_history_start_ordinal", json!(10))))), 1),
        ("old forks", [2, 3].map(|n| mortar(copied(fork(n).in_old_words()))), 3),
        ("forks by reference", [2, 3].map(|n| mortar(fork(n).meta("history_base", base.clone()))), 3),
        (
            "sub-agents without a copy",
            [2, 3].map(|n| spent(child(n).turn("check the mortar", "x"), [200, 10], [200, 10])),
            1,
        ),
    ];
    for (what, children, sessions) in cases {
        let world = World::new();
        let parent = Codex::session(id(1)).in_dir("/usr");
        world.add(bricks(if what.starts_with("old") { parent.in_old_words() } else { parent }));
        children.into_iter().for_each(|child| drop(world.add(child)));
        let total = &numbers(&world, &[])["total"];
        assert_eq!(total["sessions"], sessions, "{what}");
        assert_eq!(total["tokens"], json!({"input": 1400, "cached": 0, "output": 70}), "{what}");
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        let listed = listed.iter().filter(|session| session.id != id(1));
        let counts: Vec<_> =
            listed.map(|session| (session.prompts, session.replies, session.first_prompt.clone())).collect();
        let first = if what == "old forks" { "count the bricks" } else { "check the mortar" };
        assert_eq!(counts, vec![(Some(1), Some(1), Some(first.to_owned())); 2], "{what}");
    }
}

#[test]
fn stats_keeps_copied_history_of_missing_codex_parent() {
    let world = World::new();
    let child = Codex::session(id(2)).in_dir("/usr").in_old_words().subagent_of(&id(1));
    let child = child.record("session_meta", json!({"id": id(1)})).turn("count the bricks", "counted");
    world.add(spent(spent(child, [1000, 50], [1000, 50]).turn("more", "ok"), [1200, 60], [200, 10]));
    let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions().remove(0);
    assert_eq!((listed.prompts, listed.first_prompt.as_deref()), (Some(2), Some("count the bricks")));
    assert_eq!(numbers(&world, &[])["total"]["tokens"]["input"], 1200);
}
