//! `list` and `agents` for users: tables that fit, marks, the screen; and the output to a pipe, which has more.

use std::path::Path;

use snapbox::str;
use unicode_width::UnicodeWidthStr as _;

use crate::contract::{AgentList, Details, parse};
use crate::fixtures::{Amplifier, Claude, Codex, Leo, id};
use crate::terminal::Seat;
use crate::world::World;

const DEEP: &str = "/srv/clients/acme/website/frontend/components";

/// Creates sessions whose titles, directories and marks are too long for any table.
fn wide_sessions() -> World {
    let world = World::new().keeping();
    world
        .add(Claude::session(id(1)).in_dir(DEEP).entrypoint("sdk-cli").turn(&"日本語の長い題名".repeat(9), "x").torn());
    world.add(Amplifier::session(id(2)).in_dir(format!("/{}", "d".repeat(150))).turn(&"long ".repeat(60), "x"));
    world.add(Claude::session(id(3)).in_dir("/usr").turn("short", "x"));
    world.add(Leo::pointer(world.dir("home/workspace/app/Demo/app"), &id(3)));
    world
}

#[test]
fn table_rows_fit_the_terminal() {
    let world = wide_sessions();
    for columns in [1, 8, 20, 33, 47, 60, 72, 80, 99, 120, 200] {
        for args in [
            &["list"][..],
            &["list", "--wide"],
            &["list", "--group", "project"],
            &["agents"],
            &["list", "--fields", "id,title,dir,path,model,marks,problems"],
        ] {
            let printed = world.on_terminal(columns, args.iter().copied().chain(["--color", "never"])).code(0).stdout();
            for line in printed.lines() {
                // A sentence is not a row; `agents` lists the missing stores in sentences.
                let is_sentence = line.ends_with('.') || (args == ["agents"] && columns < 47);
                assert!(line.width() <= columns.into() || is_sentence, "{columns} columns: {line:?}");
            }
            assert!(args != ["list"] || printed.lines().count() == 4, "{columns}: {printed}");
        }
    }
}

#[test]
fn table_truncates_directory_in_the_middle() {
    let world = wide_sessions();
    for columns in [80, 100, 120] {
        let printed = world.on_terminal(columns, ["list"]).code(0).stdout();
        assert!(printed.contains("/components  "), "{printed}");
        assert!(printed.contains("…"), "{printed}");
    }
}

#[test]
fn list_shows_sizes_when_sorted_by_size() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(DEEP).turn(&"a long title ".repeat(9), "x"));
    let head = |args: &[&str]| {
        let printed = world.on_terminal(80, args.iter().copied().chain(["--color", "never"])).code(0).stdout();
        printed.lines().next().expect("a heading").to_owned()
    };
    assert!(!head(&["list"]).contains("SIZE"));
    assert!(head(&["list", "--sort", "size"]).contains("SIZE"));
}

#[test]
fn filter_for_a_hidden_kind_shows_it() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("plan", "x").subagent("agent-a1", "look", "found"));
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);
    let shown = world.rejoin(["list", "is:subagent", "--json"]).sessions();
    assert_eq!(shown.iter().map(|session| &*session.id).collect::<Vec<_>>(), ["agent-a1"]);
    let printed = world.rejoin(["search", "look", "is:subagent"]).code(0).stdout();
    assert!(printed.contains("agent-a1"), "{printed}");
}

#[test]
fn directories_and_marks_become_narrower_before_titles() {
    let world = World::new().keeping();
    let title = "Fix the parser of the configuration file on Tuesday";
    world.add(Claude::session(id(1)).in_dir(DEEP).entrypoint("sdk-cli").turn(title, "x").torn());
    for (columns, expected) in [
        (80, "Fix the parser of th…  …/components  4w      exec, dir gon…"),
        (112, "Fix the parser of the configuration file …  …/components  2026-02-01  809 B  exec, dir gon…"),
        (140, "file on Tuesday  /srv/clients/…/components  2026-02-01  809 B  exec, dir gone, torn"),
        (
            160,
            "file on Tuesday  /srv/clients/acme/website/frontend/components  2026-02-01  809 B  exec, dir gone, torn",
        ),
    ] {
        let printed = world.on_terminal(columns, ["list", "--wide", "--color", "never"]).code(0).stdout();
        assert!(printed.lines().any(|line| line.ends_with(expected)), "{columns} columns: {printed}");
    }
}

#[test]
fn marks_are_letters_below_100_columns() {
    let world = wide_sessions();
    world.rejoin(["pin", &id(3)]).code(0);
    let list = |columns, more: &[&str]| world.on_terminal(columns, ["list", "--color", "never"].iter().chain(more));
    list(99, &[]).stderr_eq(str![[r#"
Marks: P pinned, X exec, @ leo, D dir gone, T torn, i no info.

"#]]);
    let marks = |answer: crate::world::Answer| -> Vec<String> {
        let table = answer.stdout();
        table.lines().skip(1).map(|line| line.rsplit("  ").next().unwrap_or_default().trim().to_owned()).collect()
    };
    assert_eq!(marks(list(99, &[])), ["Di", "P@", "XDT"]);
    for (columns, more) in [(80, &["--wide"][..]), (100, &[]), (112, &[])] {
        let short = ["dir gone, no …", "pinned, leo", "exec, dir gon…"];
        assert_eq!(marks(list(columns, more).stderr_eq("")), short, "{columns} columns");
    }
    assert_eq!(marks(list(140, &[])), ["dir gone, no info", "pinned, leo", "exec, dir gone, torn"]);
    let help = world.rejoin(["help", "marks"]).code(0).stdout();
    for line in ["P  pinned", "D  dir gone", "T  torn", "@  leo"] {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn terminal_list_fits_one_screen() {
    let world = World::new().keeping();
    (1..=40).for_each(|n| drop(world.add(Claude::session(id(n)).in_dir("/usr").turn("x", "y"))));
    let screen = |args: &[&str]| {
        let mut command = world.from(world.home()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["list", "--color", "never"]).args(args);
        let (status, sent) = Seat::run(&command, 80, 24).ends();
        assert_eq!(status, Some(0), "{sent}");
        sent.replace("\r\n", "\n")
    };
    let short = screen(&[]);
    assert!(short.lines().count() < 24, "{short}");
    assert!(short.contains("21 more: `rejoin list --limit 0`, or `rejoin list --here`"), "{short}");
    assert!(screen(&["--agent", "claude"]).contains("20 more; --limit 0 shows all."));
    assert_eq!(screen(&["--limit", "0"]).matches("claude ").count(), 40);
    assert_eq!(screen(&["--limit", "30"]).matches("claude ").count(), 30);
    assert_eq!(world.rejoin(["list"]).code(0).stdout().lines().count(), 40, "a pipe gets all");
    assert_eq!(world.rejoin(["list", "--limit", "0"]).code(0).stdout().lines().count(), 40);
}

#[test]
fn notes_wrap_and_keep_header_on_screen() {
    let world = wide_sessions();
    (10..60).for_each(|n| drop(world.add(Claude::session(id(n)).in_dir("/usr").turn("x", "y"))));
    world.add(Leo::pointer(world.dir("home/workspace/app/Lost/app"), &id(99)));
    for (columns, rows) in [(60, 14), (60, 24), (80, 24), (120, 30), (200, 50)] {
        let mut command = world.from(world.home()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["list", "--color", "never"]);
        let mut seat = Seat::run(&command, columns, rows);
        let screen = seat.shows_what(|screen| screen.contains("found."));
        let screen = screen.screen().contents();
        let (table, notes) = screen.split_once(" more: `rejoin list --limit 0`, or").expect("a note");
        assert!(table.contains("AGENT") && table.contains("TITLE"), "{columns} columns: {screen}");
        assert!(notes.contains("`rejoin list --here`"), "{columns} columns: {screen}");
        let words: Vec<&str> = notes.split_whitespace().collect();
        assert!(words.ends_with(&["which", "cannot", "be", "found."]), "{columns} columns: {screen}");
        assert!(screen.trim_end().lines().count() < rows.into(), "{columns} columns, no line for the prompt: {screen}");
        assert_eq!(seat.ends().0, Some(0));
    }
    // In a file, each note is one line.
    let notes = world.on_terminal(60, ["list", "--color", "never"]).stderr();
    assert_eq!(notes.lines().filter(|line| line.ends_with("which cannot be found.")).count(), 1, "{notes}");
}

#[test]
fn list_shows_line_numbers_that_name_sessions() {
    let world = World::new();
    (1..=12).for_each(|n| drop(world.add(Claude::session(id(n)).in_dir("/usr").turn("x", "y"))));
    let list = |columns, more: &[&str]| {
        let args = ["list", "--color", "never"].iter().chain(more);
        world.on_terminal(columns, args).code(0).stdout()
    };
    let table = list(90, &[]);
    let numbers: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers.first(), Some(&"#"), "{table}");
    for (at, line) in table.lines().enumerate().skip(1) {
        let [number, _, short] = line.split_whitespace().take(3).collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!(number, at.to_string());
        let shown: Details = world.rejoin(["show", number, "--json"]).code(0).json();
        assert!(shown.session.id.starts_with(short), "{line}: {}", shown.session.id);
    }
    for other in
        [&["--dir", "/usr"][..], &["--sort", "title"], &["--reverse"], &["--group", "project"], &["--all"], &["x"]]
    {
        assert!(list(90, other).starts_with("AGENT") || list(90, other).starts_with("ID"), "{other:?}");
    }
    assert!(list(60, &[]).starts_with("AGENT"), "a narrow terminal has no room for them");
    assert!(world.rejoin(["list", "--format", "table"]).code(0).stdout().starts_with("AGENT"));
}

#[test]
fn piped_list_respects_format_and_fields() {
    let world = World::new().keeping();
    world.add(Claude::session(id(1)).in_dir("/usr").title("say \"hi\", twice").turn("x", "y"));
    world.rejoin(["list", "--format", "table"]).code(0).stderr_eq("").stdout_eq(str![[r#"
AGENT   ID        TITLE            DIRECTORY  ACTIVE       SIZE  MARKS
claude  00000001  say "hi", twice  /usr       2026-02-01  [..] B

"#]]);
    world.rejoin(["list", "--format", "csv", "--fields", "id,title,launch_dir,prompts"]).code(0).stdout_eq(str![[r#"
id,title,launch_dir,prompts
00000001-aaaa-4aaa-8aaa-000000000001,"say ""hi"", twice",/usr,1

"#]]);
    world.rejoin(["list", "--fields", "agent,title,copies"]).code(0).stdout_eq("claude\tsay \"hi\", twice\t1\n");
    let csv = world.rejoin(["list", "--format", "csv"]).code(0).stdout();
    assert!(csv.starts_with("agent,id,title,launch_dir,active_at,size_bytes,health\n"), "{csv}");
    let [new, old] =
        ["launch_dir,active_at,size_bytes,health,created_at,git_branch", "dir,active,size,problems,created,branch"]
            .map(|fields| world.rejoin(["list", "--format", "csv", "--fields", fields]).code(0).stdout());
    assert!(new.starts_with("launch_dir,active_at,size_bytes,health,created_at,git_branch\n"), "{new}");
    assert_eq!(new, old, "the earlier names are synonyms");
    let stats = world.rejoin(["stats", "--format", "csv"]).code(0).stdout();
    assert!(stats.starts_with("by,key,sessions,prompts,replies,size_bytes,active_days,"), "{stats}");
    let stores = world.rejoin(["agents", "--format", "csv"]).code(0).stdout();
    assert!(stores.starts_with("agent,store,sessions,others,size_bytes,active_at,version\n"), "{stores}");
    let counted = world.rejoin(["list", "--counts"]).code(0).stdout();
    assert!(counted.trim_end_matches('\n').ends_with("\t1\t1"), "{counted}");
    world.rejoin(["list", "--fields", "agent,colour"]).code(2);
}

#[test]
fn list_groups_sessions_by_project() {
    let world = World::new();
    for (n, dir, at) in [(1, "/usr", "10"), (2, "/etc", "11"), (3, "/usr", "12")] {
        let session = Claude::session(id(n)).in_dir(dir).at(&format!("2026-02-{at}T12:00:00Z"));
        world.add(session.turn("x", "y"));
    }
    let table = world.on_terminal(80, ["list", "--group", "project", "--color", "never"]).code(0).stdout();
    let starts: Vec<&str> = table.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!(starts, ["AGENT", "/usr", "claude", "claude", "/etc", "claude"], "{table}");
    assert!(table.contains("/usr  2 sessions, "), "{table}");
    let ids = world.rejoin(["list", "--group", "project", "--fields", "id"]).code(0).stdout();
    assert_eq!(ids.lines().collect::<Vec<_>>(), [id(3), id(1), id(2)]);
}

#[cfg(feature = "sqlite")]
#[test]
fn database_session_has_size_only_with_counts() {
    let world = World::new();
    world.add(crate::fixtures::OpenCode::session(crate::fixtures::opencode_id(1)).in_dir("/usr").turn("x", "y"));
    let size = |args: &[&str]| {
        let line = world.rejoin(["list", "--fields", "size"].iter().chain(args)).code(0).stdout();
        line.trim().to_owned()
    };
    assert_eq!(size(&[]), "");
    assert!(size(&["--counts"]).parse::<u64>().expect("a size") > 10);
    assert!(!world.on_terminal(120, ["list"]).code(0).stdout().contains("0 B"));
}

#[test]
fn every_command_explains_empty_home() {
    let world = World::new();
    let sentence = "No agent has sessions here. `rejoin agents` shows where rejoin looked.\n";
    for args in
        [&["list"][..], &["doctor"], &["stats"], &["search", "x"], &["cleanup", "--dry-run"], &["list", "--here"]]
    {
        let answer = world.on_terminal(80, args).code(0);
        assert_eq!(answer.stderr(), sentence, "{args:?}");
        assert!(!answer.stdout().contains("problems found"), "{args:?}");
    }
    for args in [&["resume", "latest"][..], &["resume", "."], &["show", "abc"], &["show", "--path", "a title"]] {
        let stderr = world.rejoin(args).code(5).stderr();
        let error = "error: no agent has sessions here\nhint: run `rejoin agents` to see where rejoin looked\n";
        assert_eq!(stderr, error, "{args:?}");
    }
}

#[test]
fn unreadable_store_is_not_an_empty_home() {
    let world = World::new();
    // A volume is not mounted.
    for link in [".claude", ".codex/sessions"] {
        let link = world.home().join(link);
        std::fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
        std::os::unix::fs::symlink("/volume/of/ana", &link).expect("a link");
        let warning = format!("cannot read {}: it is a link to /volume/of/ana, which does not exist", link.display());
        let stderr = world.on_terminal(200, ["list"]).code(0).stderr();
        assert!(stderr.contains(&warning) && !stderr.contains("No agent has sessions here"), "{stderr}");
        let stderr = world.rejoin(["resume", "latest"]).code(5).stderr();
        assert!(stderr.contains(&warning) && !stderr.contains("no agent has sessions here"), "{stderr}");
        std::fs::remove_file(&link).expect("a link");
    }
}

#[test]
fn every_command_counts_the_same_sessions() {
    let world = World::new();
    let app = world.dir("app");
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir(&app).turn("x", "y"));
    }
    world.add(Claude::session(id(4)).in_dir(&app));
    world.add(Codex::session(id(5)).in_dir(&app).turn("x", "y").archived());
    let list = world.on_terminal(80, ["list"]).code(0);
    assert_eq!(list.stdout().lines().filter(|line| line.contains("claude")).count(), 3);
    assert!(
        list.stderr().contains("2 more with --all (sub-agents, empty, closed by their agent)."),
        "{}",
        list.stderr()
    );
    let doctor = world.rejoin(["doctor", "--check", "bad-lines"]).code(0).stdout();
    assert_eq!(doctor, "No problems found in 3 sessions and 2 that `list` shows with --all.\n");
    let stats = world.on_terminal(80, ["stats"]).code(0).stderr();
    assert_eq!(stats, "1 session closed by an agent included; `rejoin list --all` shows it.\n");
}

#[test]
fn list_without_match_explains_why() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y"));
    world.on_terminal(80, ["list", "--agent", "claude", "--dir", "/nowhere"]).code(0).stderr_eq(str![[r#"
No session worked in /nowhere or below it. `rejoin list` shows where some did.

"#]]);
    world.on_terminal(80, ["list", "--since", "1h"]).code(0).stderr_eq(str![[r#"
No session was active since [..]; the newest was active [..].

"#]]);
    world.on_terminal(80, ["list", "--agent", "codex,pi"]).code(0).stderr_eq(str![[r#"
There is no session of codex or pi to show. `rejoin list` shows all.

"#]]);
}

#[test]
fn agents_shows_existing_and_missing_stores() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y"));
    let list: AgentList = world.rejoin(["agents", "--json"]).code(0).json();
    let claude = list.stores.iter().find(|store| store.agent == crate::contract::Agent::CLAUDE).expect("a store");
    assert!(claude.exists && claude.is_default && claude.sessions > 0 && claude.size_bytes > 0, "{claude:?}");
    assert!(list.stores.iter().any(|store| !store.exists && store.sessions == 0), "{list:?}");
    let lines = world.rejoin(["agents"]).code(0).stdout();
    assert_eq!(lines.lines().count(), list.stores.len());
    let table = world.on_terminal(100, ["agents", "--color", "never"]).code(0).stdout();
    assert!(table.contains("Not found: ") && table.contains("(~/.jido_code)"), "{table}");
    let tested = claude.tested_version.as_deref().expect("a version");
    let row = table.lines().find(|line| line.starts_with("claude ")).expect("a row");
    assert!(table.starts_with("AGENT ") && row.trim_end().ends_with(tested), "{table}");
    let last = world.rejoin(["agents", "--format", "ndjson"]).code(0).stdout();
    let last: serde_json::Value = parse(last.lines().last().expect("a line"));
    assert_eq!(last["stores"], list.stores.len());
}

/// One path of sessions of each agent that rejoin does not read.
const NOT_READ: [(&str, &str); 6] = [
    ("Kiro CLI", ".local/share/kiro-cli/data.sqlite3"),
    ("Codex before 0.2", ".codex/sessions/rollout-2025-05-07-a1a1a1a1-0000-4000-8000-000000000001.json"),
    ("Copilot CLI before 0.0.342", ".copilot/history-session-state/session_1_1760090400000.json"),
    ("Copilot Chat", ".config/Code/User/workspaceStorage/0a1b/chatSessions"),
    ("Zed", ".local/share/zed/threads/threads.db"),
    ("OpenClaw", ".openclaw/agents"),
];

fn names_not_read(list: &AgentList) -> Vec<&str> {
    list.not_read.iter().map(|store| store.name.as_str()).collect()
}

#[test]
fn agents_names_the_unread_stores() {
    let world = World::new();
    // Every user of VS Code has directories of workspaces, also without a chat.
    std::fs::create_dir_all(world.home().join(".config/VSCodium/User/workspaceStorage/0a1b")).expect("a directory");
    std::fs::create_dir_all(world.home().join(".copilot/history-session-state")).expect("an empty directory");
    let list: AgentList = world.rejoin(["agents", "--json"]).code(0).json();
    assert!(list.not_read.is_empty(), "{:?}", list.not_read);
    assert!(!world.on_terminal(100, ["agents"]).code(0).stdout().contains("not read"));
    for (_, path) in NOT_READ {
        std::fs::create_dir_all(world.home().join(path)).expect("a store");
    }
    let list: AgentList = world.rejoin(["agents", "--json"]).code(0).json();
    assert_eq!(names_not_read(&list), NOT_READ.map(|(name, _)| name));
    for store in &list.not_read {
        assert!(store.instead.matches('`').count() >= 2 && Path::new(&store.root.path).is_dir(), "{store:?}");
    }
    let table = world.on_terminal(200, ["agents", "--color", "never"]).code(0).stdout();
    assert!(
        table.contains("Found, not read: Kiro CLI (~/.local/share/kiro-cli/data.sqlite3), Codex before"),
        "{table}"
    );
    let asked: AgentList = world.rejoin(["agents", "--agent", "claude", "--json"]).code(0).json();
    assert!(asked.not_read.is_empty(), "{:?}", asked.not_read);
}

#[test]
fn agents_finds_unread_stores_by_environment_variables() {
    let world = World::new();
    let elsewhere = world.dir("elsewhere");
    let below = [
        ("OPENCLAW_STATE_DIR", "agents"),
        ("XDG_DATA_HOME", "zed/threads/threads.db"),
        ("XDG_CONFIG_HOME", "Code/User/globalStorage/emptyWindowChatSessions"),
    ];
    for (variable, path) in below {
        std::fs::create_dir_all(elsewhere.join(variable).join(path)).expect("a store");
    }
    let call = || {
        let names = below.iter().map(|(variable, _)| variable);
        names.fold(world.from(world.root()), |call, name| call.with(name, elsewhere.join(name)))
    };
    let list: AgentList = call().rejoin(["agents", "--json"]).code(0).json();
    assert_eq!(names_not_read(&list), ["Copilot Chat", "Zed", "OpenClaw"]);
    let home = world.home();
    let named = ["--home", home.to_str().expect("a path"), "agents", "--json"];
    let list: AgentList = call().rejoin(named).code(0).json();
    assert!(list.not_read.is_empty(), "{:?}", list.not_read);
}

#[test]
fn agents_names_unread_stores_of_copied_mac_home() {
    let world = World::new();
    let support = world.home().join("Library/Application Support");
    for path in ["kiro-cli/data.sqlite3", "Zed/threads/threads.db", "Code/User/workspaceStorage/0a1b/chatSessions"] {
        std::fs::create_dir_all(support.join(path)).expect("a store");
    }
    let list: AgentList = world.rejoin(["agents", "--json"]).code(0).json();
    assert_eq!(names_not_read(&list), ["Kiro CLI", "Copilot Chat", "Zed"]);
}

#[test]
fn narrow_table_keeps_requested_columns() {
    let world = World::new();
    let app = world.dir("projects/of/the/customer/app");
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir(&app).title("A title of many words, as usual").turn("x", "y"));
    }
    world.rejoin(["pin", &id(1)]).code(0);
    for columns in [60, 72, 80, 120, 200] {
        let counted = world.on_terminal(columns, ["list", "--counts", "--color", "never"]).code(0);
        let head = counted.stdout().lines().next().unwrap_or_default().to_owned();
        assert!(head.contains("PROMPTS") && head.contains("REPLIES") && head.contains("TITLE"), "{columns}: {head}");
        assert_eq!(counted.stderr().contains("Marks:"), head.contains("MARKS") && columns < 100, "{columns}");
        let stores = world.on_terminal(columns, ["agents", "--color", "never"]).code(0).stdout();
        assert!(stores.starts_with("AGENT") && stores.contains("SESSIONS"), "{columns}: {stores}");
        assert!(stores.lines().all(|line| line.chars().count() <= usize::from(columns)), "{columns}: {stores}");
    }
    let chosen = world.on_terminal(60, ["list", "--fields", "prompts,replies,title"]).code(0);
    assert!(!chosen.stderr().contains("Marks:"), "{}", chosen.stderr());
}

#[test]
fn is_closed_and_is_archived_select_same_sessions() {
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir("/usr").turn("x", "y").archived());
    world.add(Claude::session(id(2)).in_dir("/usr").turn("x", "y"));
    for mark in ["is:closed", "is:archived"] {
        let listed = world.rejoin(["list", mark, "--fields", "id,marks"]).code(0).stdout();
        assert_eq!(listed, format!("{}\tclosed\n", id(1)), "{mark}");
    }
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("kind          closed"), "{shown}");
    for columns in [60, 80, 120, 200] {
        let table = world.on_terminal(columns, ["list", "--all", "--color", "never"]).code(0);
        let output = table.stdout() + &table.stderr();
        assert!(!output.contains("archived") && output.contains("closed"), "{columns}: {output}");
    }
}
