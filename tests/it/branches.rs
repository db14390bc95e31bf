//! Conversations with branches, as after a rewind: the branch that a resume continues is shown, and the others are
//! named.

use serde_json::json;

use crate::contract::DoctorReport;
use crate::contract::changes::Cleanup;
use crate::contract::search::Search;
use crate::contract::{Details, Kind, Severity};
use crate::fixtures::{Claude, Codex, Gemini, OpenCode, Pi, Qwen, id, opencode_id, put};
use crate::terminal::Seat;
use crate::world::World;

/// Creates a session with six messages on an abandoned branch, and four in their place.
fn rewound() -> Claude {
    let session = Claude::session(id(1)).in_dir("/usr").chained().turn("rename the tables", "Renamed them.");
    let session = session.turn("abandoned idea", "An answer to it.").turn("abandoned too", "Another answer.");
    session.back_to(2).turn("write a migration", "Migration written.").turn("and a test", "Test added.")
}

fn details(world: &World, args: &[&str]) -> Details {
    world.rejoin(["show", "--json", "--counts"].iter().chain(args)).code(0).json()
}

/// Returns the texts and the branches of the messages.
fn said(world: &World, args: &[&str]) -> Vec<(String, Option<u16>)> {
    let messages = details(world, args).messages.expect("messages");
    messages.into_iter().map(|message| (message.text, message.branch)).collect()
}

fn texts(world: &World, args: &[&str]) -> Vec<String> {
    said(world, args).into_iter().map(|(text, _)| text).collect()
}

const ACTIVE: [&str; 6] =
    ["rename the tables", "Renamed them.", "write a migration", "Migration written.", "and a test", "Test added."];

#[test]
fn show_prints_the_active_branch() {
    let world = World::new();
    world.add(rewound());
    assert_eq!(texts(&world, &[&id(1), "-t"]), ACTIVE);
    assert_eq!(texts(&world, &[&id(1), "-m", "2"]), ACTIVE[4..]);
    let other = said(&world, &[&id(1), "--branch", "2"]);
    assert_eq!(other.len(), 6);
    assert_eq!(other[1], ("Renamed them.".to_owned(), None));
    assert_eq!(other[5], ("Another answer.".to_owned(), Some(2)));
    let all = said(&world, &[&id(1), "--all-branches"]);
    assert_eq!(all.iter().filter(|(_, branch)| *branch == Some(2)).count(), 4);
    assert_eq!(all.len(), 10);

    let shown = details(&world, &[&id(1), "--branches"]);
    assert_eq!((shown.session.prompts, shown.session.replies), (Some(3), Some(3)));
    assert_eq!(shown.notes, ["4 more messages are on another branch; --branches lists them"]);
    let branches = shown.branches.expect("branches");
    assert_eq!(
        branches.iter().map(|branch| (branch.number, branch.active, branch.messages)).collect::<Vec<_>>(),
        [(1, true, 6), (2, false, 4)]
    );
    assert_eq!(branches[1].first.as_deref(), Some("abandoned idea"));
    assert_eq!(branches[1].after.as_deref(), Some("Renamed them."));
    assert!(branches[1].begun_at < branches[1].ended_at && branches[0].after.is_none());

    let text = world.rejoin(["show", &id(1), "--branches"]).code(0).stdout();
    assert!(text.starts_with("branch 1, which a resume continues: 6 messages from "), "{text}");
    assert!(text.contains("\n  after   Renamed them.\n  begins  abandoned idea\n"), "{text}");
    let printed = world.rejoin(["show", &id(1), "--all-branches"]).code(0).stdout();
    assert_eq!(printed.matches("  (branch 2)\n").count(), 4);
    let error = world.rejoin(["show", &id(1), "--branch", "3"]).code(5).stderr();
    assert!(error.contains("there is no branch 3; the conversation has 2 branches"), "{error}");
    for args in [["--branch", "0"], ["--branches", "-t"]] {
        world.rejoin(["show", &id(1)].iter().copied().chain(args)).code(2);
    }
}

#[test]
fn last_prompt_record_selects_the_active_branch() {
    let world = World::new();
    for (session, expected) in [
        (rewound().last_prompt(6), "Another answer."),
        (rewound().last_prompt(4), "An answer to it."),
        (rewound().last_prompt(10), "Test added."),
        (rewound().last_prompt(6).turn("later", "Of another client."), "Another answer."),
        (rewound().last_prompt(10).turn("later", "After a crash."), "After a crash."),
        (rewound().record("last-prompt", &json!({"leafUuid": "unknown"})), "Test added."),
    ] {
        world.add(session);
        let texts = texts(&world, &[&id(1), "-t"]);
        assert_eq!(texts.last().map(String::as_str), Some(expected), "{texts:?}");
        let last = details(&world, &[&id(1), "-m", "1"]).messages.expect("messages");
        assert_eq!(last[0].text, expected);
    }
}

#[test]
fn messages_on_other_branch_make_session_not_empty() {
    let world = World::new();
    let begun = Claude::session(id(1)).in_dir("/usr").chained().message("system", &json!({}), &json!({}));
    world.add(begun.turn("taken back", "Answer.").last_prompt(1));
    let shown = details(&world, &[&id(1)]);
    assert_eq!((shown.session.kind, shown.session.prompts), (Kind::Main, Some(0)));
    assert!(shown.session.health.is_empty(), "its records are understood: {:?}", shown.session.health);
    let plan: Cleanup = world.rejoin(["cleanup", "--empty", "--any-age", "--dry-run", "--json"]).code(0).json();
    assert!(plan.items.is_empty());
}

#[test]
fn delete_of_copy_quotes_messages_of_another_branch() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").chained().turn("one", "1").filed_under("-usr-a"));
    let session = Claude::session(id(1)).in_dir("/usr").chained().turn("one", "1").turn("only here", "2");
    world.add(session.last_prompt(2).filed_under("-usr-b"));
    let copies = details(&world, &[&id(1)]).session.copies;
    let copy = &copies.iter().find(|copy| copy.path.contains("-usr-b")).expect("a copy").path;
    let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["delete", &id(1), "--copy", copy]);
    let mut seat = Seat::run(&command, 120, 24);
    seat.shows("only there: 2 messages, from \"only here\" to \"2\"");
    seat.types("n\r");
    assert_eq!(seat.ends().0, Some(1));
}

#[test]
fn undone_messages_of_opencode_are_another_branch() {
    let world = World::new();
    let session =
        || OpenCode::session(opencode_id(1)).in_dir("/usr").turn("one", "1").turn("two", "2").turn("three", "3");
    let texts_of = |session: OpenCode, args: &[&str]| {
        world.add(session);
        let id = opencode_id(1);
        texts(&world, &[&[id.as_str()], args].concat())
    };
    assert_eq!(texts_of(session(), &["-t"]).len(), 6);
    assert_eq!(texts_of(session().undone_from(2), &["-t"]), ["one", "1"]);
    assert_eq!(texts_of(session().undone_from(2), &["--branch", "2"]).len(), 6);
    assert_eq!(texts_of(session().undone_from(0), &["--branch", "2"]).len(), 6);
    assert_eq!(texts_of(session().undone_within(3), &["-t"]), ["one", "1", "two", "2"]);
    assert_eq!(texts_of(session().undone_from(77), &["-t"]).len(), 6, "an unknown message takes nothing back");

    world.add(session().undone_from(2));
    let shown = details(&world, &[&opencode_id(1), "--branches"]);
    assert_eq!((shown.session.prompts, shown.session.replies), (Some(1), Some(1)));
    let note = "4 more messages are on another branch; --branches lists them; its agent deletes them at the next prompt, and /redo \
                brings them back";
    assert_eq!(shown.notes, [note]);
    assert_eq!(shown.branches.expect("branches")[1].first.as_deref(), Some("two"));
    let found: Search = world.rejoin(["search", "three", "--json"]).code(0).json();
    assert!(found.sessions[0].messages.iter().all(|hit| hit.branch == Some(2)));
    let report: DoctorReport = world.rejoin(["doctor", "--check", "other-branches", "--json"]).code(4).json();
    assert_eq!((report.findings.len(), report.findings[0].severity), (1, Severity::Warning));

    // A session whose messages were all rolled back is not empty.
    world.add(session().undone_from(0));
    let plan: Cleanup = world.rejoin(["cleanup", "--empty", "--any-age", "--dry-run", "--json"]).code(0).json();
    assert!(plan.items.is_empty());
    let shown = details(&world, &[&opencode_id(1)]);
    assert_eq!((shown.session.kind, shown.session.health.len()), (Kind::Main, 0));
    // Neither is one with messages in an unknown format.
    let strange = OpenCode::session(opencode_id(2)).in_dir("/usr").message(json!({"role": "robot"}), Vec::new());
    world.add(strange.message(json!({"role": "robot"}), Vec::new()).undone_from(0));
    let shown = details(&world, &[&opencode_id(2)]);
    assert_eq!(shown.session.health, ["unknown-format"]);
}

#[test]
fn rewound_messages_of_gemini_are_another_branch() {
    let world = World::new();
    let message = |session: Gemini, id, text| session.message_of(id, "user", &json!({"content": text}));
    let session = Gemini::session(id(1)).turn("one", "1");
    let session = message(message(session, "b", "two"), "c", "three").record(json!({"$rewindTo": "b"}));
    world.add(session.turn("four", "4"));
    assert_eq!(texts(&world, &[&id(1), "-t"]), ["one", "1", "four", "4"]);
    let other = said(&world, &[&id(1), "--branch", "2"]);
    assert_eq!(other.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["one", "1", "two", "three"]);
    assert_eq!((other[1].1, other[2].1), (None, Some(2)));
    let shown = details(&world, &[&id(1), "--branches"]);
    assert_eq!(shown.notes, ["2 more messages are on another branch; --branches lists them"]);
    assert_eq!(shown.branches.expect("branches")[1].after.as_deref(), Some("1"));
    let report: DoctorReport = world.rejoin(["doctor", "--check", "other-branches", "--json"]).code(0).json();
    assert_eq!((report.findings.len(), report.findings[0].severity), (1, Severity::Note));
    let found: Search = world.rejoin(["search", "three", "--json"]).code(0).json();
    assert!(found.sessions[0].messages.iter().all(|hit| hit.branch == Some(2)));
}

#[test]
fn parallel_tool_calls_are_one_branch() {
    let world = World::new();
    let call = |name: &str| json!({"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}});
    let result = |name: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": name}]});
    let session = Claude::session(id(1)).in_dir("/usr").chained().prompt("do both");
    let session = session.reply_block("m", &call("first")).reply_block("m", &call("second"));
    let session = session.back_to(2).message("user", &result("one"), &json!({}));
    world.add(session.back_to(3).message("user", &result("two"), &json!({})).reply("Both are done."));
    assert_eq!(texts(&world, &[&id(1), "-t"]).len(), 6);
    assert_eq!(details(&world, &[&id(1), "--branches"]).branches.map(|branches| branches.len()), Some(1));
}

#[test]
fn compaction_continues_the_conversation() {
    let world = World::new();
    let boundary = json!({"subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": format!("{}-1", id(1))});
    let session = Claude::session(id(1)).in_dir("/usr").chained().turn("before", "Done.").record("system", &boundary);
    world.add(session.turn("after", "Done, too."));
    assert_eq!(texts(&world, &[&id(1), "-t"]), ["before", "Done.", "after", "Done, too."]);
}

#[test]
fn search_and_export_name_the_branch() {
    let world = World::new();
    world.add(rewound());
    let found: Search = world.rejoin(["search", "abandoned", "--json"]).code(0).json();
    assert!(found.sessions[0].messages.iter().all(|hit| hit.branch == Some(2)));
    let exact: Search = world.rejoin(["search", "--exact", "migration", "--json"]).code(0).json();
    assert!(exact.sessions[0].messages.iter().all(|hit| hit.branch.is_none()));
    let table = world.rejoin(["search", "abandoned", "--format", "table"]).code(0).stdout();
    assert!(table.contains("abandoned idea (branch 2)"), "{table}");

    let page = world.rejoin(["export", &id(1)]).code(0);
    assert!(page.stderr().contains("4 messages are on another branch; --branch 2 prints it"), "{}", page.stderr());
    assert!(page.stdout().contains("Test added.") && !page.stdout().contains("abandoned"));
    let all = world.rejoin(["export", &id(1), "--all-branches"]).code(0).stderr_eq("").stdout();
    assert!(all.contains("## User (branch 2)"), "{all}");
    let html = world.rejoin(["export", &id(1), "--branch", "2", "--format", "html"]).code(0).stdout();
    assert!(html.contains("abandoned too") && !html.contains("Test added."));
    world.rejoin(["export", &id(1), "--branch", "9"]).code(5);
}

#[test]
fn doctor_finds_branches_in_transcripts_of_ordinary_size() {
    let world = World::new();
    let text = "word ".repeat(40_000);
    let long = |turns| (0..turns).fold(rewound(), |session: Claude, _| session.turn(&text, "y"));
    for (turns, args) in [(10, vec!["doctor", "--json"]), (50, vec!["doctor", "--check", "other-branches", "--json"])] {
        world.add(long(turns));
        let report: DoctorReport = world.rejoin(args).code_is_one_of(&[0, 4]).json();
        let found = report.findings.iter().any(|finding| finding.code == "other-branches");
        assert!(found && report.read_at_both_ends == 0, "{turns}: {:?}", report.findings);
    }
}

#[test]
fn doctor_reports_messages_off_the_active_branch() {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    for (session, severity) in [(rewound(), Severity::Note), (rewound().last_prompt(6), Severity::Warning)] {
        let path = world.add(session);
        let before = std::fs::read(&path).expect("a transcript");
        let report: DoctorReport = world.rejoin(["doctor", "--json"]).json();
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        let finding = &report.findings[0];
        assert_eq!((finding.code.as_str(), finding.severity), ("other-branches", severity));
        assert!(finding.evidence.contains("4 messages of claude session"), "{}", finding.evidence);
        assert!(finding.evidence.contains("the newest among them") == (severity == Severity::Warning));
        assert_eq!(std::fs::read(&path).expect("a transcript"), before);
    }
    world.add(Claude::session(id(1)).in_dir("/usr").chained().turn("a", "b").turn("c", "d").last_prompt(4));
    world.rejoin(["doctor"]).code(0).stdout_eq("No problems found in 1 session.\n");
}

#[test]
fn branches_work_for_other_agents() {
    let world = World::new();
    let turns = |n: usize| (format!("prompt {n}"), format!("reply {n}"));
    let [one, two, three] = [1, 2, 3].map(turns);
    let rollback = json!({"type": "thread_rolled_back", "num_turns": 1});
    let codex = Codex::session(id(1)).in_new_words().turn(&one.0, &one.1).turn(&two.0, &two.1);
    world.add(codex.record("event_msg", rollback).turn(&three.0, &three.1));
    let pi = Pi::session(id(2)).turn(&one.0, &one.1).turn(&two.0, &two.1);
    world.add(pi.back_to(2).turn(&three.0, &three.1));
    let again = |parent: &str, own: &str, kind: &str, role: &str, text: &str| {
        json!({"uuid": own, "parentUuid": parent, "type": kind, "timestamp": "2026-02-01T12:00:00Z", "cwd": "/usr",
            "message": {"role": role, "parts": [{"text": text}]}})
    };
    let qwen = Qwen::session(id(3)).turn(&one.0, &one.1).turn(&two.0, &two.1);
    let qwen =
        qwen.raw(again("u3", "w1", "user", "user", &three.0)).raw(again("w1", "w2", "assistant", "model", &three.1));
    world.add(qwen);
    for agent in ["codex", "pi", "qwen"] {
        let session = world.rejoin(["list", "--json", "--agent", agent]).code(0).sessions().remove(0);
        let name = format!("{agent}:{}", session.id);
        assert_eq!(texts(&world, &[&name, "-t"]), ["prompt 1", "reply 1", "prompt 3", "reply 3"], "{agent}");
        let other = texts(&world, &[&name, "--branch", "2"]);
        assert_eq!(other, ["prompt 1", "reply 1", "prompt 2", "reply 2"], "{agent}");
        let shown = details(&world, &[&name, "--branches"]);
        assert_eq!((shown.session.prompts, shown.session.replies), (Some(2), Some(2)), "{agent}");
        assert!(
            shown.notes.iter().any(|note| note.starts_with("2 more messages are on another branch")),
            "{:?}",
            shown.notes
        );
    }
}
