//! `list`: selection, order and format.

use serde_json::json;
use snapbox::str;

use crate::contract::{self, Header, Kind, ListKind, ListSummary, Liveness};
use crate::fixtures::{Amplifier, Claude, Leo, claude_slug, id, put};
use crate::world::{World, start_of};

fn ids(world: &World, args: &[&str]) -> Vec<String> {
    let args = ["list", "--json"].iter().chain(args);
    world.rejoin(args).code(0).sessions().into_iter().map(|session| session.id).collect()
}

/// Creates four sessions of two agents, one per day, the first the oldest.
fn four_sessions() -> World {
    let world = World::new();
    let (app, state_dir) = (world.dir("app"), world.dir("app/shop"));
    world.add(Amplifier::session(id(1)).in_dir(&app).at("2026-02-26T12:00:00Z").turn("delta", &"x".repeat(300)));
    world.add(Claude::session(id(2)).in_dir(&state_dir).at("2026-02-27T12:00:00Z").turn("alpha", "x"));
    world.add(Amplifier::session(id(3)).in_dir("/gone").at("2026-02-28T12:00:00Z").turn("charlie", "x"));
    world.add(Claude::session(id(4)).in_dir(&app).at("2026-03-01T11:00:00Z").turn("Bravo", &"x".repeat(9000)));
    world
}

#[test]
fn piped_list_has_one_line_per_session() {
    let world = four_sessions();
    let title = "a title that is much longer than a table would show ".repeat(5);
    let session = Claude::session(id(5)).in_dir(format!("/{}", "deep/".repeat(60))).at("2026-02-01T10:00:00Z");
    world.add(session.title(title.trim()).turn("x", "y"));
    let lines = world.rejoin(["list"]).code(0).stderr_eq("").stdout();
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 7), "{lines}");
    let column = |n: usize| rows.iter().map(|row| row[n]).collect::<Vec<_>>();
    assert_eq!(column(0), ["claude", "amplifier", "claude", "amplifier", "claude"]);
    assert_eq!(column(1), [id(4), id(3), id(2), id(1), id(5)]);
    assert_eq!(column(2)[..4], ["Bravo", "charlie", "alpha", "delta"]);
    assert_eq!(column(2)[4], title.trim());
    assert_eq!(column(3)[1], "/gone");
    assert_eq!(column(3)[4], format!("/{}", "deep/".repeat(60)));
    assert_eq!(column(4)[..2], ["2026-03-01T11:01:00Z", "2026-02-28T12:01:00Z"]);
    assert_eq!(column(6)[1], "missing-directory,session-info-missing");
}

#[test]
fn terminal_list_has_short_ids_and_ages() {
    let world = World::new().keeping();
    // Directories that exist on every machine, because the sizes depend on their names.
    world.add(Amplifier::session(id(1)).in_dir("/usr").at("2026-02-01T12:00:00Z").turn("delta", "x"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").at("2026-02-27T12:00:00Z").turn("alpha", "x").torn());
    world.add(Amplifier::session(id(3)).in_dir("/gone").session_info("/gone").turn("charlie", "x"));
    world.add(Claude::session(id(4)).in_dir("/usr").at("2026-03-01T11:00:00Z").title("Bravo").turn("x", "y"));
    world.add(Claude::session(id(5)).in_dir("/").at("2026-03-01T11:58:00Z").entrypoint("sdk-cli").turn("run\nit", "y"));
    world.add(Leo::pointer(world.dir("home/workspace/app/Demo/app"), &id(4)));
    world.on_terminal(120, ["list", "--color", "never", "--quiet"]).code(0).stderr_eq("").stdout_eq(str![[r#"
#  AGENT      ID        TITLE    DIRECTORY  ACTIVE         SIZE  MARKS
1  claude     00000005  run it   /          1 min ago     697 B  exec
2  claude     00000004  Bravo    /usr       58 min ago    786 B  leo
3  claude     00000002  alpha    /usr/bin   2 days ago    681 B  torn
4  amplifier  00000001  delta    /usr       2026-02-01  1.9 KiB  no info
5  amplifier  00000003  charlie  /gone      2026-02-01  2.0 KiB  dir gone

"#]]);
}

#[test]
fn narrow_terminal_has_one_line_per_session() {
    let world = World::new();
    world.add(Claude::session(id(1)).title("a title of some length").turn("x", "y"));
    for columns in [20, 40, 60] {
        let printed = world.on_terminal(columns, ["list"]).code(0).stdout();
        assert_eq!(printed.lines().count(), 2, "{columns} columns:\n{printed}");
    }
}

#[test]
fn list_has_no_colors_in_pipes() {
    let world = four_sessions();
    assert!(world.on_terminal(100, ["list"]).code(0).stdout().contains('\u{1b}'));
    assert!(!world.on_terminal(100, ["list", "--color", "never"]).code(0).stdout().contains('\u{1b}'));
    assert!(!world.rejoin(["list"]).code(0).stdout().contains('\u{1b}'));
}

#[test]
fn short_ids_are_unique() {
    let world = World::new();
    let ids = ["aaaaaaaa-0000-4000-8000-00000000000a", "aaaaaaaa-0000-4000-8000-00000000000b"];
    ids.iter().for_each(|id| drop(world.add(Claude::session(*id).turn("x", "y"))));
    let table = world.on_terminal(200, ["list"]).code(0).stdout();
    assert!(ids.iter().all(|id| table.contains(id)), "{table}");
}

#[test]
fn list_filters_by_agent() {
    let world = four_sessions();
    assert_eq!(ids(&world, &["--agent", "claude"]), [id(4), id(2)]);
    assert_eq!(ids(&world, &["--agent", "amplifier"]), [id(3), id(1)]);
    assert_eq!(ids(&world, &["--agent", "amplifier", "--agent", "claude"]).len(), 4);
    assert!(ids(&world, &["--agent", "leo"]).is_empty());
}

#[test]
fn agent_leo_selects_claude_sessions_of_its_pointers() {
    let world = four_sessions();
    let app = world.dir("app");
    world.add(Leo::pointer(&app, &id(2)));
    assert_eq!(ids(&world, &["--agent", "leo"]), [id(2)]);
    let list: contract::SessionList = world.rejoin(["list", "--json"]).code(0).json();
    let named = list.sessions.iter().find(|session| session.id == id(2)).expect("the session");
    assert_eq!(named.pointers.len(), 1);
    assert_eq!(named.pointers[0].name.as_deref(), Some("Demo"));
    assert_eq!(named.pointers[0].written_at.as_deref(), Some("2026-02-01T10:00:00.123456Z"));
    assert!(list.dangling_pointers.is_empty());
}

#[test]
fn list_shows_dangling_pointer() {
    let world = four_sessions();
    world.add(Leo::pointer(world.dir("app"), &id(99)));
    let list: contract::SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!(list.dangling_pointers.len(), 1);
    assert_eq!(list.dangling_pointers[0].session_id, Some(id(99)));
}

#[test]
fn list_filters_by_directory_and_subdirectories() {
    let world = four_sessions();
    let (app, state_dir) = (world.root().join("app"), world.root().join("app/shop"));
    assert_eq!(ids(&world, &["--dir", app.to_str().expect("a path")]), [id(4), id(2), id(1)]);
    assert_eq!(ids(&world, &["--dir", state_dir.to_str().expect("a path")]), [id(2)]);
    assert_eq!(ids(&world, &["--dir", "/gone"]), [id(3)]);
    assert!(ids(&world, &["--dir", "/gon"]).is_empty());
    let here = |dir| -> Vec<String> {
        let sessions = world.from(dir).rejoin(["list", "--here", "--json"]).code(0).sessions();
        sessions.into_iter().map(|session| session.id).collect()
    };
    assert_eq!(here(&state_dir), [id(2)]);
    assert_eq!(here(&app), [id(4), id(2), id(1)]);
    let relative = world.from(&app).rejoin(["list", "--dir", "shop", "--json"]).code(0).sessions();
    assert_eq!(relative.len(), 1);
}

#[test]
fn dir_filter_follows_links() {
    let world = four_sessions();
    let link = world.root().join("link");
    crate::fixtures::link(&world.root().join("app/shop"), &link);
    assert_eq!(ids(&world, &["--dir", link.to_str().expect("a path")]), [id(2)]);
}

#[test]
fn list_filters_by_age() {
    let world = four_sessions();
    assert_eq!(ids(&world, &["--since", "2days"]), [id(4), id(3), id(2)]);
    assert_eq!(ids(&world, &["--older-than", "2days"]), [id(1)]);
    assert_eq!(ids(&world, &["--since", "3days", "--older-than", "1h"]), [id(3), id(2), id(1)]);
    assert_eq!(ids(&world, &["--since", "2026-02-28"]), [id(4), id(3)]);
    assert_eq!(ids(&world, &["--since", "1min"]), [""; 0]);
    assert_eq!(ids(&world, &["--since", "yesterday"]), ids(&world, &["--since", "2026-02-28"]));
    assert_eq!(ids(&world, &["--since", "2026-02"]).len(), 4);
    // A day begins at midnight in the local time zone.
    let here = |at: &str| {
        let call = world.with("TZ", "EST5").rejoin(["list", "--json", "--older-than", at]);
        call.code(0).sessions().len()
    };
    assert_eq!([here("2026-02-28 07:10"), here("2026-02-28T07:10:00Z")], [3, 2]);
    let stderr = world.rejoin(["list", "--since", "3m"]).code(2).stderr();
    assert!(stderr.contains("m may mean minutes or months; use 3min or 3mo"), "{stderr}");
    world.rejoin(["cleanup", "--older-than", "3M", "--dry-run"]).code(2);
}

#[test]
fn list_sorts_by_every_key() {
    let world = four_sessions();
    for (key, expected) in [
        ("active_at", [4, 3, 2, 1]),
        ("active", [4, 3, 2, 1]),
        ("created_at", [4, 3, 2, 1]),
        ("title", [2, 4, 3, 1]),
        ("agent", [3, 1, 4, 2]),
    ] {
        assert_eq!(ids(&world, &["--sort", key]), expected.map(id), "{key}");
        let mut reversed = expected;
        reversed.reverse();
        assert_eq!(ids(&world, &["--sort", key, "--reverse"]), reversed.map(id), "{key}");
    }
    assert_eq!(ids(&world, &["--sort", "size"])[0], id(4));
    // The path of the world depends on the machine.
    let place = if world.root() < std::path::Path::new("/gone") { 3 } else { 0 };
    assert_eq!(ids(&world, &["--sort", "dir"])[place], id(3));
}

#[test]
fn limit_reports_number_of_omitted_sessions() {
    let world = four_sessions();
    let list: contract::SessionList = world.rejoin(["list", "--limit", "1", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.beyond_limit), (1, 3));
    assert_eq!(ids(&world, &["--limit", "9"]).len(), 4);
    assert_eq!(ids(&world, &["--limit", "0"]).len(), 4);
    assert_eq!(world.rejoin(["ls", "--limit=2"]).code(0).stdout().lines().count(), 2);
}

#[test]
fn list_hides_sub_agents_and_empty_sessions() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y").subagent("agent-a1", "p", "r").flat_subagent("agent-b2", "p", "r"));
    world.add(Claude::session(id(2)).record("mode", &json!({"mode": "normal"})));
    world.add(Amplifier::session(id(3)));
    let list: contract::SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.hidden), (1, 4));
    let mut all = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let kinds: Vec<(String, Kind)> = all.into_iter().map(|session| (session.id, session.kind)).collect();
    assert_eq!(
        kinds,
        [
            (id(1), Kind::Main),
            (id(2), Kind::Empty),
            (id(3), Kind::Empty),
            ("agent-a1".to_owned(), Kind::Subagent),
            ("agent-b2".to_owned(), Kind::Subagent),
        ]
    );
}

#[test]
fn list_leaves_counts_null_unless_requested() {
    let world = four_sessions();
    let plain = world.rejoin(["list", "--json"]).code(0).sessions();
    assert!(plain.iter().all(|session| session.prompts.is_none() && session.replies.is_none()));
    let counted = world.rejoin(["list", "--json", "--counts"]).code(0).sessions();
    assert!(counted.iter().all(|session| (session.prompts, session.replies) == (Some(1), Some(1))));
}

#[test]
fn ndjson_has_header_sessions_and_summary() {
    let world = four_sessions();
    let text = world.rejoin(["list", "--format", "ndjson", "--limit", "3"]).code(0).stdout();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(contract::parse::<Header<ListKind>>(lines[0]).kind, ListKind::SessionList);
    let ids: Vec<String> = lines[1..4].iter().map(|line| contract::parse::<contract::Session>(line).id).collect();
    assert_eq!(ids, [id(4), id(3), id(2)]);
    let summary: ListSummary = contract::parse(lines[4]);
    assert_eq!((summary.sessions, summary.beyond_limit), (3, 1));
}

#[test]
fn list_is_deterministic() {
    let world = World::new();
    // Sessions with equal times are sorted by agent and id.
    (1..40).rev().for_each(|n| drop(world.add(Claude::session(id(n)).turn("x", "y"))));
    (1..40).for_each(|n| drop(world.add(Amplifier::session(id(n)).turn("x", "y"))));
    let first = world.rejoin(["list", "--json"]).code(0).stdout();
    for _ in 0..5 {
        assert_eq!(world.rejoin(["list", "--json"]).code(0).stdout(), first);
    }
}

#[test]
fn list_distinguishes_directories_with_same_slug() {
    let world = World::new();
    let dirs = ["/w/a-b", "/w/a.b", "/w/a_b", "/w/a b"];
    for (n, dir) in (1..).zip(dirs) {
        assert_eq!(claude_slug(dir), "-w-a-b");
        world.add(Claude::session(id(n)).in_dir(dir).turn("x", "y"));
        world.add(
            Amplifier::session(id(n + 10))
                .in_dir(dir.replace(['.', '_', ' '], "/"))
                .filed_under("-w-a-b")
                .turn("x", "y"),
        );
    }
    for session in world.rejoin(["list", "--json"]).code(0).sessions() {
        assert!(!session.health.contains(&"misfiled-session".to_owned()), "{session:?}");
        let n = usize::from_str_radix(&session.id[..8], 16).expect("a number");
        let expected = if n > 10 { dirs[n - 11].replace(['.', '_', ' '], "/") } else { dirs[n - 1].to_owned() };
        assert_eq!(session.launch_path(), Some(expected.as_str()));
    }
    assert_eq!(ids(&world, &["--dir", "/w/a.b"]), [id(2)]);
}

#[test]
fn list_distinguishes_directories_with_long_common_prefix() {
    let world = World::new();
    let start = format!("/w/{}", "long-".repeat(45));
    let (first, second) = (format!("{start}/one"), format!("{start}/two"));
    assert_ne!(claude_slug(&first), claude_slug(&second));
    world.add(Claude::session(id(1)).in_dir(&first).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&second).turn("x", "y"));
    // The session is filed under the slug of the other directory.
    world.add(Claude::session(id(3)).in_dir(&second).filed_under(claude_slug(&first)).turn("x", "y"));
    for session in world.rejoin(["list", "--json"]).code(0).sessions() {
        let is_misfiled = session.health.contains(&"misfiled-session".to_owned());
        assert_eq!(is_misfiled, session.id == id(3), "{session:?}");
    }
}

#[test]
fn environment_variable_selects_store_for_resume() {
    let world = World::with_agents();
    let (config, app) = (world.dir("config"), world.dir("app"));
    world.add(Claude::session(id(1)).in_dir(&app).config_dir(&config).turn("elsewhere", "x"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("at home", "x"));
    let listed = world.with("CLAUDE_CONFIG_DIR", &config).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed.len(), 2, "the default one is looked at too");
    world.with("CLAUDE_CONFIG_DIR", &config).rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("CLAUDE_CONFIG_DIR"), config.to_str());
    world.with("CLAUDE_CONFIG_DIR", &config).rejoin(["resume", &id(2)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("CLAUDE_CONFIG_DIR"), None);

    let home = world.home();
    let args = ["--home", home.to_str().expect("a path"), "list", "--json"];
    let listed = world.with("CLAUDE_CONFIG_DIR", &config).rejoin(args).code(0).sessions();
    assert_eq!(listed.iter().map(|session| &session.id).collect::<Vec<_>>(), [&id(2)], "--home ignores the variable");
}

#[test]
fn claude_store_in_config_directory_needs_no_variable() {
    let world = World::with_agents();
    let app = world.dir("app");
    let configs = [world.home().join(".config/claude"), world.dir("xdg").join("claude")];
    for (n, config) in [1, 2].into_iter().zip(&configs) {
        world.add(Claude::session(id(n)).in_dir(&app).config_dir(config).turn("elsewhere", "x"));
    }
    let xdg =
        |args: &[&str]| world.with("XDG_CONFIG_HOME", configs[1].parent().expect("a parent")).rejoin(args).code(0);
    assert_eq!(ids(&world, &[]), [id(1)]);
    assert_eq!(xdg(&["list", "--json"]).sessions().len(), 2);
    xdg(&["resume", &id(2)]);
    assert_eq!(world.launched().expect("a launch").variable("CLAUDE_CONFIG_DIR"), configs[1].to_str());
    // Without transcripts, it is a directory of another program.
    std::fs::rename(configs[0].join("projects"), configs[0].join("themes")).expect("a move");
    let agents = world.rejoin(["agents"]).code(0).stdout();
    assert!(!agents.contains(".config/claude"), "{agents}");
}

#[test]
fn session_registered_by_running_process_is_live() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
    let pid = sleeper.id();
    let start = start_of(pid);
    let register = |start: &str| {
        let record = json!({"pid": pid, "sessionId": id(1), "procStart": start, "status": "idle"});
        put(&world.home().join(format!(".claude/sessions/{pid}.json")), record.to_string());
    };
    let liveness = || world.rejoin(["list", "--json"]).code(0).sessions()[0].liveness;

    register(&start);
    assert_eq!(liveness(), Liveness::Live);
    let answer = world.rejoin(["resume", &id(1)]).code(7);
    assert!(answer.stderr().contains(&format!("in use by process {pid}")), "{}", answer.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1), "--force"]).code(0);
    assert!(world.launched().is_some());

    // In the background, the client opens a session with another command (measured on 2.1.332).
    let job = json!({"pid": pid, "sessionId": id(1), "procStart": start, "kind": "bg", "jobId": "c5b0753b"});
    put(&world.home().join(format!(".claude/sessions/{pid}.json")), job.to_string());
    world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "attach", "c5b0753b"]);
    let refused = world.rejoin(["resume", &id(1), "--prompt", "more"]).code(7).stderr();
    assert!(refused.contains("run `claude stop c5b0753b` first"), "{refused}");

    register(if cfg!(target_os = "linux") { "1" } else { "Thu Jan  1 00:00:01 1970" });
    assert_eq!(liveness(), Liveness::Idle, "the process id was given to another process");
    world.rejoin(["resume", &id(1)]).code(0);

    register(&start);
    sleeper.kill().and_then(|()| sleeper.wait()).expect("an end");
    assert_eq!(liveness(), Liveness::Idle, "a client that was killed leaves its registration behind");
}

#[test]
fn session_with_recent_event_may_be_in_use() {
    let world = World::with_agents();
    let app = world.dir("app");
    let event =
        |name: &str| format!("{{\"ts\": \"2026-03-01T11:59:30.000+00:00\", \"event\": \"{name}\", \"data\": {{}}}}\n");
    let running = Amplifier::session(id(1)).in_dir(&app).turn("x", "y").file("events.jsonl", event("llm:request"));
    let session = world.add(running);
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions()[0].liveness, Liveness::Maybe);
    world.rejoin(["backfill", &id(1)]).code(3);
    let answer = world.rejoin(["resume", &id(1)]).code(0);
    assert!(answer.stderr().contains("warning: the session may be in use"), "{}", answer.stderr());
    assert!(world.launched().is_some());
    assert!(!session.join("session-info.json").exists(), "a session that may be live is not changed");
}

#[test]
fn session_that_just_ended_is_idle() {
    let world = World::with_agents();
    let ended = "{\"ts\": \"2026-03-01T11:59:30.000+00:00\", \"event\": \"session:end\", \"data\": {}}\n";
    let app = world.dir("app");
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y").file("events.jsonl", ended));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions()[0].liveness, Liveness::Idle);
    world.rejoin(["resume", &id(1)]).code(0);
    assert!(session.join("session-info.json").exists());
}
