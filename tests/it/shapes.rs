//! The meaning of each shape on disk: kinds, titles, prompts, counts and directories.

use serde_json::json;

use crate::contract::{Details, Kind, Session};
use crate::fixtures::{Amplifier, Claude, Fixture, id, put};
use crate::world::World;

/// Lists a single session with its counts.
fn listed(fixture: impl Fixture) -> Session {
    let world = World::new();
    world.add(fixture);
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.retain(|session| session.kind != Kind::Subagent);
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn said(session: &Session) -> (Option<&str>, Option<&str>, Option<u64>, Option<u64>) {
    (session.title.as_deref(), session.first_prompt.as_deref(), session.prompts, session.replies)
}

#[test]
fn list_reads_the_files_of_an_amplifier_session() {
    let session = listed(Amplifier::session(id(1)).named("Parser").turn("fix it", "Done.").turn("thanks", "Welcome."));
    assert_eq!(said(&session), (Some("Parser"), Some("fix it"), Some(2), Some(2)));
    assert_eq!(
        (session.kind, session.model.as_deref(), session.git_branch.as_deref()),
        (Kind::Main, Some("model-a"), None)
    );
    assert_eq!(session.launch_path(), Some("/home/ana/app"));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:03:00Z"));
}

#[test]
fn list_reads_amplifier_session_killed_in_first_turn() {
    let session = listed(Amplifier::session(id(1)).events_only().turn("was killed", ""));
    assert_eq!(said(&session), (None, Some("was killed"), Some(1), Some(0)));
    assert_eq!((session.kind, session.launch_dir.is_none()), (Kind::Main, true));
    assert!(session.health.contains(&"unknown-directory".to_owned()), "{:?}", session.health);
}

#[test]
fn directory_with_only_session_info_is_empty() {
    let session = Amplifier::session(id(1)).events_only().without("events.jsonl").session_info("/home/ana/app");
    let session = listed(session);
    assert_eq!((session.kind, session.launch_source()), (Kind::Empty, Some("session-info")));
}

#[test]
fn backups_replace_broken_or_missing_files() {
    let transcript = r#"{"role": "user", "content": "from the backup"}"#;
    let session = Amplifier::session(id(1))
        .without("transcript.jsonl")
        .without("events.jsonl")
        .file("transcript.jsonl.backup", format!("{transcript}\n"))
        .file("metadata.json", "{")
        .file("metadata.json.backup", r#"{"name": "Kept", "working_dir": "/home/ana/app"}"#);
    let session = listed(session);
    assert_eq!(said(&session), (Some("Kept"), Some("from the backup"), Some(1), Some(0)));
    assert_eq!(session.launch_path(), Some("/home/ana/app"));
}

#[test]
fn list_distinguishes_amplifier_forks_and_sub_sessions() {
    let parent = json!(id(9));
    let fork = listed(
        Amplifier::session(id(1))
            .metadata("parent_id", parent.clone())
            .metadata("forked_from_turn", json!(1))
            .turn("x", "y"),
    );
    assert_eq!((fork.kind, fork.parent_id), (Kind::Fork, Some(id(9))));
    // A fork may have any name, even one like that of a sub-agent.
    let named = listed(
        Amplifier::session("my_fork")
            .metadata("parent_id", parent.clone())
            .metadata("forked_at", json!("2026-02-01T10:00:00+00:00"))
            .turn("x", "y"),
    );
    assert_eq!(named.kind, Kind::Fork);

    let world = World::new();
    world.add(
        Amplifier::session("0000000000000000-1234567890abcdef_helper")
            .metadata("parent_id", parent.clone())
            .metadata("agent_name", json!("helper"))
            .turn("x", "y"),
    );
    world.add(
        Amplifier::session(id(2)).metadata("parent_id", parent).metadata("agent_name", json!("helper")).turn("x", "y"),
    );
    world.add(Amplifier::session(format!("{}-1234567890abcdef_helper", id(3))).without("metadata.json").turn("x", "y"));
    let all = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(all.iter().map(|session| session.kind).collect::<Vec<_>>(), [Kind::Subagent; 3]);
    assert!(all.iter().all(|session| !session.resumable && session.resume.is_none()));
}

#[test]
fn amplifier_project_names_match_in_every_form() {
    for (slug, dir) in [
        ("-home-ana-my.app_v2", "/home/ana/my.app_v2"),
        ("-C-w-a b", "C:\\w\\a b"),
        // Servers replace only the slashes.
        ("-home-ana-a:b", "/home/ana/a:b"),
        // The hand-off of the distro files sessions under the last component.
        ("my.app", "/home/ana/my.app"),
        ("-", "/"),
    ] {
        let session = listed(Amplifier::session(id(1)).in_dir(dir).filed_under(slug).turn("x", "y"));
        assert_eq!(session.launch_path(), Some(dir), "{slug}");
        assert_eq!(session.launch_source(), Some("metadata"), "{slug}");
    }
}

#[test]
fn amplifier_project_matches_through_link() {
    let world = World::new();
    let real = world.dir("real");
    let link = world.root().join("link");
    crate::fixtures::link(&real, &link);
    world.add(
        Amplifier::session(id(1)).in_dir(&link).filed_under(crate::fixtures::amplifier_slug(&real)).turn("x", "y"),
    );
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions[0].launch_source(), Some("metadata"));
}

#[test]
fn injected_amplifier_messages_are_not_prompts() {
    let transcript = [
        json!({"role": "user", "content": "<system-reminder>context</system-reminder>"}),
        json!({"role": "user", "content": [{"type": "text", "text": "typed\u{2028}here"}], "metadata": {"timestamp": "2026-02-01T10:00:00+00:00"}}),
        json!({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "c", "name": "bash", "content": "a.txt"}),
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant", "content": "One file.", "timestamp": "2026-02-01T10:05:00+00:00"}),
        json!({"role": "user", "content": "typed"}),
    ];
    let text: String = transcript.iter().map(|entry| format!("{entry}\n")).collect();
    let session = listed(Amplifier::session(id(1)).without("events.jsonl").file("transcript.jsonl", text));
    assert_eq!(said(&session), (None, Some("typed\u{2028}here"), Some(2), Some(2)));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
}

#[test]
fn list_reads_the_records_of_a_claude_session() {
    let session = Claude::session(id(1))
        .in_dir("/w/app")
        .turn("fix it", "Done.")
        .cd("/w/app/sub")
        .branch("topic")
        .turn("more", "ok");
    let session = listed(session);
    assert_eq!(said(&session), (None, Some("fix it"), Some(2), Some(2)));
    assert_eq!(
        (session.kind, session.model.as_deref(), session.git_branch.as_deref()),
        (Kind::Main, Some("model-a"), Some("topic"))
    );
    assert_eq!(session.start_dir.as_deref(), Some("/w/app"));
    assert_eq!(session.last_dir.as_deref(), Some("/w/app/sub"));
    assert_eq!(session.launch_path(), Some("/w/app"));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:03:00Z"));
}

#[test]
fn session_of_marks_alone_is_empty() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("mend the trawl", "Done."));
    // Each resume of a session of the web that fails leaves such a file.
    let failed = |n| Claude::session(id(n)).in_dir(&app);
    world.add(
        failed(2).record("teleported-from", &json!({"messageCount": 0})).record("teleport-skipped-branch", &json!({})),
    );
    world.add(
        failed(3).record("mode", &json!({"mode": "normal"})).record("bridge-session", &json!({"lastSequenceNum": 4})),
    );
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 1);
    assert!(world.rejoin(["resume", "latest", "--print"]).code(0).stdout().contains(&id(1)));
    let kept = world.rejoin(["cleanup", "--empty", "--any-age", "--dry-run", "--json"]).code(0).stdout();
    assert!(kept.contains(&id(2)) && kept.contains(&id(3)) && !kept.contains(&id(1)), "{kept}");
}

#[test]
fn strongest_then_last_title_wins() {
    let base = || Claude::session(id(1)).turn("x", "y");
    let summary = |session: Claude| session.record("summary", &json!({"summary": "Summed up"}));
    assert_eq!(listed(summary(base())).title.as_deref(), Some("Summed up"));
    assert_eq!(listed(summary(base().ai_title("Made up"))).title.as_deref(), Some("Made up"));
    let named = base().title("First name").ai_title("Made up").title("Last name");
    assert_eq!(listed(summary(named)).title.as_deref(), Some("Last name"));
    let early =
        (0..400).fold(base().title("Given early"), |session, _| session.turn("go on", &"on and on ".repeat(40)));
    assert_eq!(listed(early).title.as_deref(), Some("Given early"), "counting reads all of the file");
}

#[test]
fn summary_of_another_session_is_not_title() {
    let base = || Claude::session(id(1)).turn("x", "y");
    let summary = |session: Claude, text: &str, leaf: &serde_json::Value| {
        session.record("summary", &json!({"summary": text, "leafUuid": leaf}))
    };
    let own = json!(format!("{}-1", id(1)));
    let other = json!(format!("{}-1", id(2)));
    let titles = |session: Claude| -> [Option<String>; 2] {
        let world = World::new();
        world.add(session);
        [&["list", "--json"][..], &["list", "--json", "--counts"]]
            .map(|args| world.rejoin(args).code(0).sessions().remove(0).title)
    };
    let both = |title: Option<&str>| [title.map(str::to_owned), title.map(str::to_owned)];
    assert_eq!(titles(summary(base(), "Ours", &own)), both(Some("Ours")));
    assert_eq!(
        titles(summary(summary(base(), "Ours", &own), "Theirs", &other)),
        both(Some("Ours")),
        "the last of its own"
    );
    for leaf in [other, json!(7), json!("")] {
        assert_eq!(titles(summary(base(), "Theirs", &leaf)), both(None), "{leaf}");
        let before = summary(Claude::session(id(1)), "Theirs", &leaf).turn("x", "y");
        assert_eq!(titles(before), both(None), "{leaf}");
    }
    // The summary of a compaction is not a title.
    let compacted = base().record("marble-origami-commit", &json!({"summary": "Compacted"}));
    assert_eq!(titles(compacted), both(None));
    // The conversation may quote the record.
    let quoted = Claude::session(id(1)).turn(r#"what is "uuid":"abc"?"#, "A record.");
    assert_eq!(titles(summary(quoted, "Theirs", &json!("abc"))), both(None));
}

#[test]
fn session_without_terminal_is_exec() {
    let printed = Claude::session(id(1)).entrypoint("sdk-cli").turn("x", "y");
    assert_eq!(listed(printed.clone()).kind, Kind::Exec);
    assert_eq!(listed(printed.entrypoint("cli").turn("x", "y")).kind, Kind::Main);
}

#[test]
fn fork_has_parent_id() {
    let session = Claude::session(id(1)).fork_of(&id(9)).turn("x", "y").then_on_its_own().turn("more", "z");
    let session = listed(session);
    assert_eq!((session.kind, session.parent_id), (Kind::Fork, Some(id(9))));
}

#[test]
fn relocated_session_starts_in_new_directory() {
    let session = Claude::session(id(1)).in_dir("/w/tree").filed_under("-w-main").turn("x", "y").relocated("/w/main");
    let session = listed(session);
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/w/main"), Some("relocated")));
    assert_eq!(session.start_dir.as_deref(), Some("/w/tree"));
    assert!(!session.health.contains(&"misfiled-session".to_owned()));
}

#[test]
fn session_resumed_elsewhere_starts_in_filed_directory() {
    // The newer client appends the caller's directory; the older one kept it only in a moved file.
    let session =
        Claude::session(id(1)).in_dir("/w/old").filed_under("-w-new").turn("x", "y").cd("/w/new").turn("x", "z");
    let session = listed(session);
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/w/new"), Some("last-directory")));
}

#[test]
fn list_marks_misfiled_session() {
    let session = listed(Claude::session(id(1)).in_dir("/w/old").filed_under("-w-new").turn("x", "y"));
    assert_eq!(session.launch_path(), Some("/w/old"));
    assert!(session.health.contains(&"misfiled-session".to_owned()));
}

#[test]
fn list_marks_torn_last_line() {
    let session = listed(Claude::session(id(1)).turn("x", "y").turn("more", "never finished").torn());
    assert_eq!(said(&session), (None, Some("x"), Some(2), Some(1)));
    assert!(session.health.contains(&"torn-transcript".to_owned()));
    assert!(!session.health.contains(&"bad-lines".to_owned()));
}

#[test]
fn sub_agents_of_both_layouts_belong_to_session() {
    let world = World::new();
    let path = world.add(
        Claude::session(id(1))
            .turn("x", "y")
            .subagent("agent-new", "look", "ok")
            .flat_subagent("agent-old", "look", "ok")
            .side_file("tool-results/t.txt", &"t".repeat(5000)),
    );
    let deep = path.with_extension("").join("subagents/workflows/run-1/agent-deep.jsonl");
    std::fs::create_dir_all(deep.parent().expect("a directory")).expect("a directory");
    std::fs::copy(path.with_extension("").join("subagents/agent-new.jsonl"), &deep).expect("a copy");
    let all = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    let sub = |name: &str| all.iter().find(|session| session.id == name).expect("a sub-agent");
    for name in ["agent-new", "agent-old", "agent-deep"] {
        assert_eq!((sub(name).kind, sub(name).parent_id.clone()), (Kind::Subagent, Some(id(1))), "{name}");
        assert_eq!((sub(name).prompts, sub(name).replies), (Some(1), Some(1)), "{name}");
    }
    // The journal of a workflow is not a transcript, unlike an unknown log next to it.
    for (name, code) in [("journal.jsonl", 0), ("other.jsonl", 4)] {
        put(&deep.with_file_name(name), r#"{"type":"result","key":"v1","agentId":"deep","result":"ok"}"#);
        let report = ["doctor", "--check", "unread-file", "--strict"];
        let shown = world.rejoin(report).code(code).stdout();
        assert!(!shown.contains("journal"), "{shown}");
    }
    assert!(sub(&id(1)).size_bytes > Some(6000), "files next to a transcript are part of its size");
    assert_eq!((sub(&id(1)).prompts, sub(&id(1)).replies), (Some(1), Some(1)));
}

#[test]
fn count_of_replies_excludes_api_errors() {
    let block = |kind: &str| json!({"type": kind, "text": "words", "name": "Bash", "input": {}, "thinking": "hm"});
    let error = json!({"id": "e1", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]});
    let session = Claude::session(id(1))
        .prompt("count")
        .reply_block("m1", &block("thinking"))
        .reply_block("m1", &block("text"))
        .reply_block("m1", &block("tool_use"))
        .message("user", &json!({"role": "user", "content": [{"type": "tool_result", "content": "done"}]}), &json!({}))
        .reply_block("m2", &block("thinking"))
        .message("assistant", &error, &json!({"isApiErrorMessage": true}))
        .message("user", &json!({"role": "user", "content": "<command-name>/cost</command-name>"}), &json!({}))
        .message("user", &json!({"role": "user", "content": "a note"}), &json!({"isMeta": true}))
        .message("user", &json!({"role": "user", "content": "summed up"}), &json!({"isCompactSummary": true}))
        .prompt("again");
    assert_eq!(said(&listed(session)), (None, Some("count"), Some(2), Some(1)));
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let project = world.home().join(".claude/projects/-home-ana-app");
    for name in ["notes.jsonl", "agent-.txt", "11111111-aaaa-4aaa-8aaa-111111111111.json", "journal.jsonl"] {
        put(&project.join(name), "{}\n");
    }
    put(&project.join("memory/MEMORY.md"), "x");
    let projects = world.home().join(".amplifier/projects");
    put(&projects.join("-home-ana-app/sessions/.hidden/metadata.json"), "{}");
    put(&projects.join("-home-ana-app/sessions/file.json"), "{}");
    put(&projects.join("-home-ana-app/repl_history"), "x");
    assert!(world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions().is_empty());
}

#[test]
fn list_finds_amplifier_sessions_outside_projects() {
    let world = World::new();
    let home = world.home().join(".amplifier");
    let session = world.add(Amplifier::session(id(1)).turn("x", "y"));
    std::fs::create_dir_all(home.join("projects/-home-ana-flat")).expect("a directory");
    std::fs::rename(&session, home.join("projects/-home-ana-flat").join(id(1))).expect("a move");
    let session = world.add(Amplifier::session(id(2)).turn("x", "y"));
    std::fs::create_dir_all(home.join("sessions")).expect("a directory");
    std::fs::rename(&session, home.join("sessions").join(id(2))).expect("a move");
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed.len(), 2);
    let outside = listed.iter().find(|session| session.id == id(2)).expect("a session");
    assert!(!outside.resumable && outside.project.is_none());
}

#[test]
fn show_has_sources_and_messages() {
    let world = World::new();
    world.add(Claude::session(id(1)).title("Named").turn("first", "one").turn("second", "two"));
    let details: Details = world.rejoin(["show", "latest", "--messages", "3", "--json"]).code(0).json();
    assert_eq!(details.sources["title"], "custom-title");
    assert_eq!(details.sources["launch_dir"], "transcript");
    assert_eq!((details.session.prompts, details.session.replies), (Some(2), Some(2)));
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["one", "second", "two"]);
    let all: Details = world.rejoin(["show", "latest", "--transcript", "--json"]).code(0).json();
    assert_eq!(all.messages.expect("messages").len(), 4);
    let none: Details = world.rejoin(["show", "latest", "--json"]).code(0).json();
    assert!(none.messages.is_none());
}

#[test]
fn show_prints_all_known_facts_for_users() {
    let world = World::new().keeping();
    world.add(
        Claude::session(id(1)).in_dir("/usr").title("Named").turn("first", "one").cd("/usr/bin").turn("second", "two"),
    );
    world.rejoin(["show", "latest", "--messages", "2"]).code(0).stderr_eq("").stdout_eq(snapbox::str![[r#"
claude 00000001-aaaa-4aaa-8aaa-000000000001
  title         Named  (custom-title)
  first prompt  first  (transcript)
  kind          main
  launch dir    /usr  (transcript, exists)
  started in    /usr  (transcript)
  last in       /usr/bin  (transcript)
  created       2026-02-01 10:01:00  (transcript)
  active        2026-02-01 10:04:00  (transcript)
  size          1.5 KiB
  messages      2 prompts, 2 replies
  model         model-a  (transcript)
  git branch    main  (transcript)
  in use        no
  stored in     [ROOT]/home/.claude/projects/-usr/00000001-aaaa-4aaa-8aaa-000000000001.jsonl
                  chosen: it is filed under its launch directory
  evidence      /usr  (transcript; counts)
                /usr/bin  (transcript; does not count: it belongs to another project)
  resume        cd /usr && claude --resume 00000001-aaaa-4aaa-8aaa-000000000001

user  2026-02-01 10:03:00
> second

assistant  2026-02-01 10:04:00
  two


"#]]);
    world.rejoin(["show", "latest", "--transcript"]).code(0).stderr_eq("").stdout_eq(snapbox::str![[r#"
user  2026-02-01 10:01:00
> first

assistant  2026-02-01 10:02:00
  one

user  2026-02-01 10:03:00
> second

assistant  2026-02-01 10:04:00
  two


"#]]);
}

#[test]
fn oversized_metadata_does_not_hide_its_session() {
    let world = World::new();
    let large = format!("{{\"config\": \"{}\"}}", "x".repeat(17 * 1024 * 1024));
    world.add(Amplifier::session(id(1)).file("metadata.json", large).turn("still here", "y"));
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].first_prompt.as_deref(), Some("still here"));
}
