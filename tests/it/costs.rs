//! The costs that agents recorded, in `stats`, `list` and `show`.

use serde_json::{Value, json};

use crate::contract::{Session, SessionList};
use crate::fixtures::{Aider, Claude, Copilot, Fixture as _, Gptme, OpenHands, Pi, id, openhands_id};
use crate::world::World;
use crate::{cline, cline_tasks, commandcode, letta, omp};

/// Returns numbers that are not valid costs, and one that means an unknown cost.
fn bad() -> Vec<Value> {
    let huge = serde_json::from_str("1e300").expect("a number");
    vec![
        json!("0.5"),
        json!(-0.5),
        json!(null),
        json!([0.5]),
        json!({"usd": 0.5}),
        json!(true),
        huge,
        json!(1e9),
        json!(0),
    ]
}

/// Returns the cost of all sessions, and the number of sessions with one.
fn cost(world: &World) -> (Value, Value) {
    let answer: Value = world.rejoin(["stats", "--json"]).code(0).stderr_eq("").json();
    let total: &Value = &answer["total"];
    (total["cost_usd"].clone(), total["cost_sessions"].clone())
}

/// Tests an agent with a cost and with invalid costs; `add` writes a session with such a number twice.
fn try_agent(of_two: &Value, add: impl Fn(&World, &Value)) {
    let world = World::new();
    add(&world, &json!(0.125));
    assert_eq!(cost(&world), (of_two.clone(), json!(1)));
    for bad in bad() {
        let world = World::new();
        add(&world, &bad);
        assert_eq!(cost(&world), (Value::Null, json!(0)), "{bad}");
    }
}

fn total(session: Claude, id: &str, cost: &Value, is_unknown: bool) -> Claude {
    session.record("cost-state", &json!({"sessionId": id, "totalCostUSD": cost, "hasUnknownModelCost": is_unknown}))
}

#[test]
fn last_total_of_claude_code_counts() {
    let world = World::new();
    let one = Claude::session(id(1)).in_dir("/usr").turn("x", "y").subagent("agent-a1", "q", "r");
    let one = total(total(one, &id(1), &json!(0.25), false), &id(1), &json!(0.75), false);
    // A fork has the total of the other session, and a damaged record.
    let one = total(total(one, &id(9), &json!(50), false), &id(1), &json!("9"), false);
    world.add(one);
    assert_eq!(cost(&world), (json!(0.75), json!(1)));
    // Claude Code guessed the price.
    world.add(total(total(Claude::session(id(2)).turn("x", "y"), &id(2), &json!(1), false), &id(2), &json!(2), true));
    world.add(Claude::session(id(3)).turn("x", "y"));
    assert_eq!(cost(&world), (json!(0.75), json!(1)));
    try_agent(&json!(0.125), |world, cost| {
        world.add(total(Claude::session(id(1)).turn("x", "y"), &id(1), cost, false));
    });
}

#[test]
fn cost_of_repeated_claude_reply_counts_once() {
    try_agent(&json!(0.25), |world, cost| {
        let reply = |session: Claude, message: &str, text: &str| {
            let message = json!({"id": message, "role": "assistant", "content": [{"type": "text", "text": text}]});
            session.message("assistant", &message, &json!({"costUSD": cost}))
        };
        let session = Claude::session(id(1)).in_dir("/usr").prompt("x");
        world.add(reply(reply(reply(session, "m1", "one"), "m1", "two"), "m2", "three"));
    });
}

#[test]
fn costs_of_pi_include_all_branches() {
    let usage = |cost: &Value| json!({"input": 1, "output": 1, "cost": {"input": 7, "total": cost}});
    let reply_with_cost = |cost: &Value| json!({"role": "assistant", "content": [{"type": "text", "text": "y"}], "model": "m", "usage": usage(cost)});
    try_agent(&json!(0.25), |world, cost| {
        world.add(
            Pi::session(id(1))
                .in_dir("/usr")
                .prompt("x")
                .message(&reply_with_cost(cost))
                .back_to(1)
                .message(&reply_with_cost(cost)),
        );
        let tokens: Value = world.rejoin(["stats", "--json"]).code(0).json();
        assert_eq!(tokens["total"]["tokens"]["input"], 2, "{cost} does not hide the tokens");
    });
    try_agent(&json!(0.25), |world, cost| {
        let mut records = omp::turn(&id(1), "/usr");
        records.extend([omp::reply(3, "a"), omp::reply(4, "b")].map(|mut reply| {
            reply["message"]["usage"] = usage(cost);
            reply
        }));
        omp::add(world, "-app", &id(1), &records);
    });
}

#[test]
fn cost_of_rewritten_letta_message_counts_once() {
    try_agent(&json!(0.25), |world, cost| {
        let reply = |id: &str| {
            let mut reply = letta::reply("ok");
            (reply["id"], reply["usage"]) = (json!(id), json!({"input": 1, "cost": {"total": cost}}));
            reply
        };
        letta::add(world, 1, &json!({}), &[reply("m1"), reply("m1"), reply("m2")]);
    });
}

#[test]
fn stats_sum_costs_in_files_of_other_agents() {
    try_agent(&json!(0.25), |world, cost| {
        let keys = json!({"metadata": {"model": "m", "cost": cost}});
        let session = Gptme::session("one").record("user", "x", json!({})).record("assistant", "y", keys.clone());
        world.add(session.record("assistant", "z", keys));
    });
    try_agent(&json!(0.25), |world, dollars| {
        world.add(OpenHands::session(openhands_id(1)).turn("x", "y").cost(dollars.clone()).cost(dollars.clone()));
    });
    try_agent(&json!(0.25), |world, cost| {
        let dir = world.dir("app");
        let reply = |minute| {
            let mut reply = commandcode::said(minute, "assistant", "y");
            reply["usage"] = json!({"inputTokens": 1, "outputTokens": 1, "costUsd": cost});
            reply
        };
        commandcode::write(
            world,
            &dir,
            &[commandcode::header(&dir), commandcode::said(0, "user", "x"), reply(1), reply(2)],
        );
    });
}

#[test]
fn cost_of_cline_session_includes_sub_agents() {
    try_agent(&json!(0.125), |world, cost| {
        let metadata = json!({"title": "A title", "totalCost": 0, "aggregatedAgentsCost": cost});
        let folder = cline::add(
            world,
            "1769940000000_river",
            &json!({"metadata": metadata}),
            &[cline::typed("x"), cline::reply("y")],
        );
        cline::add_subagent(&folder);
    });
    try_agent(&json!(0.25), |world, cost| {
        let noted = |kind| cline_tasks::message(1, "say", kind, &json!({"tokensIn": 1, "cost": cost}).to_string());
        let talk = [
            cline_tasks::message(0, "say", "task", "count the files"),
            noted("api_req_started"),
            noted("text"),
            cline_tasks::message(2, "say", "api_req_started", "not JSON"),
            noted("deleted_api_reqs"),
        ];
        cline_tasks::write(&cline_tasks::storage(&world.home(), "Code"), "1769940000000", &world.dir("app"), &talk);
    });
}

#[test]
fn stats_sum_costs_printed_by_aider() {
    let world = World::new();
    let answer_with_costs = |costs: &str| format!("ok\n\n> Tokens: 9 sent, 4 received. Cost: {costs}.  \n\n");
    let history = Aider::history()
        .prompt("x")
        .raw(&answer_with_costs("$0.01 message, $0.01 session"))
        .prompt("y")
        .raw(&answer_with_costs("$0.02 message, $0.03 session"))
        .start("2026-02-02 10:00:00", "aider")
        .prompt("z")
        .raw(&answer_with_costs("$0.0025 message, $0.0025 session"));
    let dir = world.dir("app");
    history.write_in_repository(&dir);
    let answer = world.from(&dir).rejoin(["stats", "--json"]).code(0).json::<Value>();
    assert_eq!((&answer["total"]["cost_usd"], &answer["total"]["cost_sessions"]), (&json!(0.0325), &json!(1)));
}

#[cfg(feature = "sqlite")]
mod databases {
    use std::path::Path;

    use rusqlite::Connection;
    use rusqlite::types::Value as Sql;

    use super::*;
    use crate::fixtures::{
        Crush, Goose, Hermes, OpenCode, goose_db, hermes_db, hermes_id, kilo_db, opencode_db, opencode_id,
        register_crush,
    };

    fn bad() -> Vec<Sql> {
        let text = Sql::Text("0.5".to_owned());
        vec![
            text,
            Sql::Blob(vec![49]),
            Sql::Null,
            Sql::Real(-0.5),
            Sql::Real(f64::INFINITY),
            Sql::Real(1e300),
            Sql::Integer(i64::MAX),
            Sql::Integer(0),
        ]
    }

    /// Tests the cost in a column with every type of value.
    fn try_column(world: &World, database: &Path, table: &str, column: &str) {
        let connection = Connection::open(database).expect("a database");
        // A column of these agents refuses NULL or converts texts to numbers; damaged databases and other versions do
        // not.
        connection
            .execute_batch(&format!(
                "ALTER TABLE {table} RENAME COLUMN {column} TO old_{column}; ALTER TABLE {table} ADD COLUMN {column}"
            ))
            .expect("a column");
        for (value, expected) in [Sql::Real(0.125), Sql::Integer(2)].into_iter().zip([0.125, 2.0]) {
            connection.execute(&format!("UPDATE {table} SET {column} = ?1"), [value]).expect("a cost");
            assert_eq!(cost(world), (json!(expected), json!(1)), "{column}");
        }
        for bad in bad() {
            connection.execute(&format!("UPDATE {table} SET {column} = ?1"), [&bad]).expect("a cost");
            assert_eq!(cost(world), (Value::Null, json!(0)), "{column} {bad:?}");
        }
    }

    #[test]
    fn opencode_and_kilo_costs_come_from_rows() {
        let world = World::new();
        for session in [OpenCode::session(opencode_id(1)), OpenCode::of_kilo(opencode_id(2))] {
            let path = world.add(session.in_dir("/usr").turn("x", "y"));
            assert_eq!(cost(&world), (Value::Null, json!(0)), "its tables are those of a version without costs");
            let connection = Connection::open(&path).expect("a database");
            connection.execute_batch("ALTER TABLE session ADD COLUMN cost real DEFAULT 0 NOT NULL").expect("a column");
            assert_eq!(cost(&world), (Value::Null, json!(0)), "zero is not known");
            try_column(&world, &path, "session", "cost");
        }
        assert!(opencode_db(&world.home()).exists() && kilo_db(&world.home()).exists());
    }

    #[test]
    fn cost_of_crush_session_includes_sub_agents() {
        let world = World::new();
        let (dir, data) = (world.dir("app"), world.dir("app/.crush"));
        register_crush(&world.home(), &[(&dir, &data)]);
        let database = Crush::session("one").turn("x", "y").write_in(&data);
        Crush::session("two").made_by("one").turn("x", "y").write_in(&data);
        try_column(&world, &database, "sessions", "cost");
    }

    #[test]
    fn goose_and_hermes_costs_come_from_rows() {
        let world = World::new();
        world.add(Goose::session("20260201_1").turn("x", "y"));
        try_column(&world, &goose_db(&world.home()), "sessions", "accumulated_cost");
        let world = World::new();
        world.add(Hermes::session(hermes_id(1)).turn("x", "y"));
        for column in ["estimated_cost_usd", "actual_cost_usd"] {
            try_column(&world, &hermes_db(&world.home()), "sessions", column);
        }
        let connection = Connection::open(hermes_db(&world.home())).expect("a database");
        let billed = "UPDATE sessions SET estimated_cost_usd = 0.5, actual_cost_usd = 0.25";
        connection.execute(billed, []).expect("two costs");
        assert_eq!(cost(&world), (json!(0.25), json!(1)), "what was billed counts more than an estimate");
    }
}

#[test]
fn premium_requests_are_not_costs() {
    let world = World::new();
    let shutdown =
        json!({"modelMetrics": {"gpt": {"requests": {"count": 2, "cost": 3.5}}}, "totalPremiumRequests": 3.5});
    world.add(Copilot::session(id(1)).turn("x", "y").event("session.shutdown", &shutdown));
    assert_eq!(cost(&world), (Value::Null, json!(0)));
}

#[test]
fn stats_shows_cost_with_number_of_sessions() {
    let world = World::new();
    world.add(total(Claude::session(id(1)).in_dir("/usr").turn("x", "y"), &id(1), &json!(0.1), false));
    world.add(total(Claude::session(id(2)).in_dir("/usr").turn("x", "y"), &id(2), &json!(0.2), false));
    world.add(Claude::session(id(3)).in_dir("/opt").turn("x", "y"));
    assert_eq!(cost(&world), (json!(0.3), json!(2)));
    let shown = world.on_terminal(120, ["stats", "--by", "project", "--color", "never"]).code(0).stdout();
    assert!(shown.contains("$0.30 recorded for 2 of 3 sessions"), "{shown}");
    let cells = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).expect("a row");
        line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(cells("PROJECT").last().map(String::as_str), Some("COST"), "{shown}");
    // The size consists of two words.
    assert_eq!(cells("/usr").get(6).map(String::as_str), Some("$0.30"), "{shown}");
    assert!(!cells("/opt").iter().any(|cell| cell.contains('$')), "{shown}");
    let lines = world.rejoin(["stats", "--by", "project"]).code(0).stdout();
    let last: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').next_back()).collect();
    assert_eq!(last, ["0.3", ""], "{lines}");
}

/// Adds a session of Pi with a recorded cost, or without usage.
fn add_pi(home: &std::path::Path, number: u32, cost: Option<f64>) {
    let usage = cost.map(|cost| json!({"input": 20, "cacheRead": 10, "output": 4, "cost": {"total": cost}}));
    let reply = json!({"role": "assistant", "content": [{"type": "text", "text": "y"}], "model": "m", "usage": usage});
    Pi::session(id(number)).in_dir("/usr").prompt("x").message(&reply).write_to(home);
}

fn three() -> World {
    let world = World::new();
    for (number, cost) in [(1, Some(0.25)), (2, None), (3, Some(2.5))] {
        add_pi(&world.home(), number, cost);
    }
    world
}

#[test]
fn list_shows_costs_and_sorts_unknown_last() {
    let world = three();
    let row = |number, rest: &str| format!("{}\t{rest}\n", id(number));
    let fields = ["list", "--format", "tsv", "--fields", "id,tokens,cost"];
    let sorted = |more: &[&str]| world.rejoin(fields.iter().chain(more)).code(0).stderr_eq("").stdout();
    let [one, two, three] = [row(1, "34\t0.25"), row(2, "\t"), row(3, "34\t2.5")];
    assert_eq!(sorted(&["--sort", "cost"]), [&*three, &*one, &*two].concat());
    assert_eq!(sorted(&["--sort", "cost_usd", "--reverse"]), [&*one, &*three, &*two].concat());
    assert_eq!(sorted(&["--sort", "tokens"]), [&*one, &*three, &*two].concat());
    assert_eq!(sorted(&["--sort", "cost", "--limit", "1"]), three);
    // Without a request, no transcript is read to its end.
    let list = |args: &[&str]| world.rejoin(["list", "--json"].iter().chain(args)).code(0).json::<SessionList>();
    assert!(list(&[]).sessions.iter().all(|session| session.tokens.is_none() && session.cost_usd.is_none()));
    for args in [&["--counts"][..], &["--sort", "cost"], &["--sort", "tokens"]] {
        let costs = |one: &Session| (one.tokens.as_ref().map(|it| [it.input, it.cached, it.output]), one.cost_usd);
        let mut known: Vec<_> = list(args).sessions.iter().map(costs).collect();
        known.sort_by(|one, other| one.1.partial_cmp(&other.1).expect("numbers"));
        assert_eq!(known, [(None, None), (Some([30, 10, 4]), Some(0.25)), (Some([30, 10, 4]), Some(2.5))], "{args:?}");
    }
    let table = world.on_terminal(100, ["--color=never", "list", "--sort", "cost"]).code(0).stdout();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("TOKENS") && lines[0].contains("COST"), "{table}");
    assert!(lines[1].contains("  34") && lines[1].contains("$2.50") && !lines[3].contains('$'), "{table}");
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{table}");
    let csv = world.rejoin(["list", "--format", "csv", "--fields", "cost", "--sort", "cost"]).code(0).stdout();
    assert_eq!(csv, "cost_usd\n2.5\n0.25\n\"\"\n");
    // The archive does not record costs.
    world.rejoin(["archive", "--every"]).code(0);
    let archived = world.rejoin(["list", "--archived", "--format", "tsv", "--fields", "cost,tokens"]).code(0);
    assert_eq!(archived.stdout(), "\t\n\t\n\t\n");
}

#[test]
fn show_has_the_recorded_cost_and_tokens() {
    let world = three();
    let shown: Value = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(shown["session"]["tokens"], json!({"input": 30, "cached": 10, "output": 4}));
    assert_eq!(shown["session"]["cost_usd"], 0.25);
    let text = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(text.contains("  tokens        30 read (10 of them from a cache), 4 written\n"), "{text}");
    assert!(text.contains("  cost          $0.25\n"), "{text}");
    let text = world.rejoin(["show", &id(2)]).code(0).stdout();
    assert!(!text.contains("cost") && !text.contains("tokens"), "{text}");
}

#[test]
fn stats_by_session_has_the_highest_cost_first() {
    let world = three();
    let answer: Value = world.rejoin(["stats", "--by", "session", "--json"]).code(0).json();
    let rows = answer["rows"].as_array().expect("rows");
    let costs: Vec<_> = rows.iter().map(|row| (row["key"].clone(), row["cost_usd"].clone())).collect();
    let name = |number| json!(format!("pi:{}", id(number)));
    assert_eq!(costs, [(name(3), json!(2.5)), (name(1), json!(0.25)), (name(2), Value::Null)]);
    // The key of the row selects the session.
    world.rejoin(["show", rows[0]["key"].as_str().expect("a name")]).code(0);
    let text = world.on_terminal(80, ["--color=never", "stats", "--by", "session"]).code(0).stdout();
    assert!(text.contains("SESSION") && text.contains(&format!("pi {:.8} x", id(3))), "{text}");
    // `stats` groups by session only on request.
    let usual: Value = world.rejoin(["stats", "--json"]).code(0).json();
    assert!(usual["rows"].as_array().expect("rows").iter().all(|row| row["by"] != "session"));
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y").subagent("agent-a1", "q", "r"));
    let answer: Value = world.rejoin(["stats", "--by", "session", "--json"]).code(0).json();
    assert_eq!(answer["rows"].as_array().map(Vec::len), Some(1), "a sub-agent is a part of its session");
}
