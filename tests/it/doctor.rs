//! `doctor`: a fixture for each finding, its exact JSON, and the options around it.
//!
//! Each snapshot is the whole answer as ndjson: a header, one line per finding, a summary.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use snapbox::str;

use crate::contract::{DoctorChecks, DoctorReport, Finding, Header, RepairKind, Severity};
use crate::facts::{copy_tree, corpus};
use crate::fixtures::{Amplifier, Claude, Jido, Leo, claude_slug, id, make_fifo, put};
use crate::world::{Answer, World, start_of};

/// Runs one check and prints the findings as lines.
fn check(world: &World, code: &str) -> Answer {
    world.rejoin(["doctor", "--check", code, "--format", "ndjson"])
}

/// Runs one check and returns the findings.
#[track_caller]
fn found(world: &World, code: &str) -> Vec<Finding> {
    world.rejoin(["doctor", "--check", code, "--json"]).json::<DoctorReport>().findings
}

/// Creates a home in which Claude Code keeps sessions for years.
fn world() -> World {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    world
}

/// Returns a session without problems in a directory that exists.
fn sound(world: &World) -> Claude {
    Claude::session(id(1)).in_dir(world.dir("app")).turn("add a test", "Added.").turn("and another", "Done.")
}

#[test]
fn doctor_accepts_long_records_and_invalid_utf8() {
    let world = world();
    let picture = json!({"role": "user", "content": [
        {"type": "text", "text": "look at this"},
        {"type": "image", "source": {"type": "base64", "data": "A".repeat(9 << 20)}},
    ]});
    world.add(sound(&world).message("user", &picture, &json!({})));
    let path = world.add(Claude::session(id(2)).in_dir(world.dir("app")).turn("one X", "two"));
    let mut bytes = std::fs::read(&path).expect("a transcript");
    let at = bytes.windows(5).position(|part| part == b"one X").expect("the text") + 4;
    bytes[at] = 0xff;
    std::fs::write(&path, bytes).expect("a byte that is not UTF-8");
    for (n, prompts) in [(1, 3), (2, 1)] {
        let shown: serde_json::Value = world.rejoin(["show", &id(n), "--json"]).code(0).json();
        assert_eq!((&shown["session"]["health"], &shown["session"]["prompts"]), (&json!([]), &json!(prompts)));
    }
    world.rejoin(["doctor", "--deep", "--check", "bad-lines"]).code(0);
}

#[test]
fn doctor_prints_no_command_for_unprintable_directory() {
    let world = world();
    let odd = world.root().join("work/a\tb\nc");
    world.add(Claude::session(id(1)).in_dir(&odd).turn("x", "y"));
    // The escaped name between single quotes would be the name of this directory.
    world.dir("work/a\\tb\\nc");
    let findings = found(&world, "missing-directory");
    let commands = &findings[0].remedies;
    assert!(commands.iter().any(|remedy| remedy.command.contains("a\tb\nc")), "{commands:?}");
    let printed = world.rejoin(["doctor"]).stdout();
    let is_command = |line: &&str| line.trim_start().starts_with("rejoin ");
    let printed: Vec<&str> = printed.lines().filter(is_command).collect();
    assert!(!printed.is_empty() && printed.iter().all(|line| !line.contains("a\\tb")), "{printed:?}");
    assert!(printed.iter().any(|line| line.trim_start().starts_with("rejoin doctor --json  ")), "{printed:?}");
}

#[test]
fn doctor_prints_one_line_for_healthy_home() {
    let world = world();
    let app = world.dir("app");
    world.add(sound(&world).subagent("agent-a1", "look", "ok"));
    world.add(Amplifier::session(id(2)).in_dir(&app).session_info(&app).turn("x", "y"));
    world.add(Jido::session(id(3)).in_dir(&app));
    world.add(Leo::pointer(world.dir("app"), &id(1)));
    world.rejoin(["doctor"]).code(0).stderr_eq("").stdout_eq(str![[r#"
No problems found in 3 sessions and 1 that `list` shows with --all.

"#]]);
    world.rejoin(["doctor", "--strict"]).code(0);
    world.rejoin(["doctor", "--json"]).code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report","findings":[],"errors":0,"warnings":0,"notes":0,"repairable":0,"sessions":4,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_accepts_home_without_sessions() {
    World::new().rejoin(["doctor"]).code(0).stdout_eq(str![[r#"
No sessions to check.

"#]]);
}

#[test]
fn doctor_offers_to_trash_prefix_copy() {
    let world = world();
    let app = world.dir("app");
    world.add(sound(&world));
    let start = Claude::session(id(1)).in_dir(&app).turn("add a test", "Added.");
    world.add(start.filed_under("-somewhere-else"));
    check(&world, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 has only the first 2 records of copy 1. Copy 1 is the one to use, because it is the only copy that is filed under its launch directory.","measured":"copy 2 is only the beginning of copy 1","expected":"one copy","remedy":"rejoin doctor --fix --check duplicate-session","remedies":[{"command":"rejoin doctor --fix --check duplicate-session","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":1,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_repairs_identical_copy_with_belongings() {
    let world = world();
    let with_agent = || sound(&world).subagent("agent-a1", "look", "ok");
    world.add(with_agent());
    world.add(with_agent().filed_under("-somewhere-else"));
    check(&world, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 has the same records as copy 1. Copy 1 is the one to use, because it is the only copy that is filed under its launch directory.","measured":"identical","expected":"one copy","remedy":"rejoin doctor --fix --check duplicate-session","remedies":[{"command":"rejoin doctor --fix --check duplicate-session","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":1,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn copy_with_extra_file_needs_decision() {
    let world = world();
    world.add(sound(&world));
    world.add(sound(&world).subagent("agent-a1", "look", "ok").filed_under("-somewhere-else"));
    check(&world, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 has the same records as copy 1. Copy 1 is the one to use, because it is the only copy that is filed under its launch directory. Only copy 2 has 00000001-aaaa-4aaa-8aaa-000000000001/subagents/agent-a1.jsonl.","measured":"identical","expected":"one copy","remedy":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","remedies":[{"command":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","effect":"removes copy 2: [..]"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn diverged_copy_needs_a_decision() {
    let world = world();
    world.add(sound(&world));
    let stray = Claude::session(id(1)).in_dir(world.dir("app")).turn("add a test", "Added.").turn("no", "Undone.");
    world.add(stray.filed_under("-somewhere-else"));
    check(&world, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/-somewhere-else/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 differs from copy 1 from record 3 on. Copy 1 is the one to use, because it is the only copy that is filed under its launch directory.","measured":"diverged at record 3","expected":"one copy","remedy":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","remedies":[{"command":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","effect":"removes copy 2: [..]"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn undecided_copies_are_an_error() {
    let world = world();
    world.add(sound(&world));
    let newer = Claude::session(id(1)).in_dir(world.dir("other")).at("2026-02-20T10:00:00Z").turn("anew", "Yes.");
    world.add(newer);
    check(&world, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"error","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-other/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 is another conversation, with no record in common with copy 1. You must choose a copy, because the evidence does not show which copy to use.","measured":"diverged at record 1","expected":"one copy","remedy":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 1","remedies":[{"command":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 1","effect":"continues copy 1: [ROOT]/other, 2 messages, 2026-02-20"},{"command":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","effect":"continues copy 2: [ROOT]/app, 4 messages, 2026-02-01"}],"repair":null}
{"kind":"summary","errors":1,"warnings":0,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn identical_copy_in_backup_store_is_a_note() {
    let world = world();
    world.add(sound(&world));
    world.add(sound(&world).config_dir(world.home().join(".claude-old")));
    check(&world, "duplicate-session").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude-old/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 has the same records as copy 1. Copy 1 is the one to use, because it is in its agent's default store. Copy 2 is in [ROOT]/home/.claude-old, which claude does not use by default; it may be a backup.","measured":"identical","expected":"one copy","remedy":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","remedies":[{"command":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001 --copy 2","effect":"removes copy 2: [..]"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":1,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_merges_orphaned_event_log_without_loss() {
    let app = |world: &World| world.dir("app");
    let session = |world: &World| Amplifier::session(id(1)).in_dir(app(world)).session_info(app(world)).turn("x", "y");
    let stray = |world: &World| Amplifier::session(id(1)).in_dir(world.dir("server")).events_only();

    let newer = world();
    newer.add(session(&newer));
    newer.add(stray(&newer).at("2026-02-02T10:00:00Z").turn("go on", "Gone on."));
    check(&newer, "duplicate-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"duplicate-session","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null},{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-server/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"amplifier session 00000001-aaaa-4aaa-8aaa-000000000001 is stored 2 times: copy 2 has only events and no conversation. Copy 1 is the one to use, because it is the only copy with a conversation.","measured":"only events newer than those of copy 1","expected":"one copy","remedy":"rejoin doctor --fix --check duplicate-session","remedies":[{"command":"rejoin doctor --fix --check duplicate-session","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"fold","paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-server/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null},{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":1,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);

    let known = world();
    known.add(session(&known));
    known.add(stray(&known).session_info(known.dir("server")).turn("x", "y"));
    let findings = found(&known, "duplicate-session");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].measured, "only events that copy 1 has too");
    assert_eq!(findings[0].repair.as_ref().map(|repair| repair.kind), Some(RepairKind::Fold));

    let mixed = world();
    mixed.add(session(&mixed));
    mixed.add(stray(&mixed).at("2026-02-01T09:59:00Z").turn("x", "y"));
    let findings = found(&mixed, "duplicate-session");
    assert_eq!(findings[0].measured, "only events; copy 1 has some of them");
    assert_eq!(findings[0].remedy, format!("rejoin delete amplifier:{} --copy 2", id(1)));
    assert!(findings[0].repair.is_none());
}

#[test]
fn doctor_reports_id_of_two_agents() {
    let world = world();
    world.add(sound(&world));
    world.add(Amplifier::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    check(&world, "shared-id").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"shared-id","severity":"warning","agents":["amplifier","claude"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"},{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"amplifier and claude each have a session with the id 00000001-aaaa-4aaa-8aaa-000000000001, so the id alone is ambiguous.","measured":"sessions of 2 agents","expected":"a session of one agent","remedy":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","effect":"resumes it"},{"command":"rejoin resume amplifier:00000001-aaaa-4aaa-8aaa-000000000001","effect":"resumes it"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_ambiguous_amplifier_prefix() {
    let world = world();
    let app = world.dir("app");
    for (name, at) in [("beefbeef-1111", "2026-02-01T10:00:00Z"), ("beefbeef-2222", "2026-02-03T10:00:00Z")] {
        world.add(Amplifier::session(name).in_dir(&app).at(at).turn("x", "y"));
    }
    // Amplifier searches only one project, in which these ids do not match.
    world.add(Amplifier::session("beefbeef-3333").in_dir(world.dir("other")).turn("x", "y"));
    world.add(Amplifier::session("beefbeef").in_dir(&app).turn("x", "y"));
    check(&world, "ambiguous-prefix").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"ambiguous-prefix","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"beefbeef-1111"},{"agent":"amplifier","id":"beefbeef-2222"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/beefbeef-1111","path_bytes_base64":null},{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/beefbeef-2222","path_bytes_base64":null}],"evidence":"amplifier prints beefbeef for 2 sessions of the project [SLUG]-app, and then rejects it as ambiguous or takes one of them.","measured":"2 session ids start with beefbeef","expected":"one","remedy":"rejoin resume amplifier:beefbeef-2222","remedies":[{"command":"rejoin resume amplifier:beefbeef-2222","effect":"resumes it"},{"command":"rejoin resume amplifier:beefbeef-1111","effect":"resumes it"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":4,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_misfiled_session() {
    let world = world();
    let (app, state_dir) = (world.dir("app"), world.dir("shop"));
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y").filed_under("-gone-away"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y").filed_under(claude_slug(&state_dir)));
    world.add(Claude::session(id(3)).in_dir(&state_dir).turn("x", "y"));
    check(&world, "misfiled-session").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"misfiled-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/-gone-away/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 is in the project -gone-away, but it records [ROOT]/app, which belongs to another project. An agent that looks in that directory's project does not find it.","measured":"project -gone-away","expected":"the project of [ROOT]/app","remedy":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001","effect":"shows the evidence for each directory"}],"repair":null}
{"code":"misfiled-session","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-shop/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000002-aaaa-4aaa-8aaa-000000000002 is in the project [SLUG]-shop, but it records [ROOT]/app, which belongs to another project. An agent that looks in that directory's project does not find it.","measured":"project [SLUG]-shop","expected":"the project of [ROOT]/app","remedy":"rejoin resume claude:00000002-aaaa-4aaa-8aaa-000000000002 --in [ROOT]/shop","remedies":[{"command":"rejoin resume claude:00000002-aaaa-4aaa-8aaa-000000000002 --in [ROOT]/shop","effect":"resumes it where the others of its project are started"},{"command":"rejoin show claude:00000002-aaaa-4aaa-8aaa-000000000002","effect":"shows the evidence for each directory"}],"repair":null}
{"kind":"summary","errors":0,"warnings":2,"notes":0,"repairable":0,"sessions":3,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_missing_directory_with_alternatives() {
    let world = world();
    let (repository, tree) = (world.dir("repo"), world.root().join("trees/feature"));
    put(&repository.join(".git/worktrees/feature/gitdir"), format!("{}\n", tree.join(".git").display()));
    world.add(Claude::session(id(1)).in_dir(&repository).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&tree).turn("x", "y"));
    world.add(Amplifier::session(id(3)).in_dir(&tree).at("2026-02-05T10:00:00Z").turn("x", "y"));
    check(&world, "missing-directory").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"missing-directory","severity":"warning","agents":["amplifier","claude"],"sessions":[{"agent":"amplifier","id":"00000003-aaaa-4aaa-8aaa-000000000003"},{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/trees/feature","path_bytes_base64":null}],"evidence":"2 sessions belong to [ROOT]/trees/feature, which does not exist here. There is [ROOT]/repo, the main checkout of that worktree. There is [ROOT], the nearest parent that still exists.","measured":"missing","expected":"a directory","remedy":"rejoin move [ROOT]/trees/feature [ROOT]/repo","remedies":[{"command":"rejoin move [ROOT]/trees/feature [ROOT]/repo","effect":"lets all 2 sessions follow, if it moved there"},{"command":"rejoin resume claude:00000002-aaaa-4aaa-8aaa-000000000002 --in [ROOT]/repo","effect":"resumes the newest of its sessions there"},{"command":"mkdir -p [ROOT]/trees/feature","effect":"creates it again, empty"},{"command":"rejoin list --dir [ROOT]/trees/feature","effect":"lists its sessions"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":3,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_directory_replaced_by_file() {
    let world = world();
    world.add(Claude::session(id(1)).in_dir(world.root().join("app")).turn("x", "y"));
    put(&world.root().join("app"), "a file");
    check(&world, "missing-directory").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"missing-directory","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/app","path_bytes_base64":null}],"evidence":"1 session belongs to [ROOT]/app, which is not a directory. There is [ROOT], the nearest parent that still exists.","measured":"no directory","expected":"a directory","remedy":"rejoin list --dir [ROOT]/app","remedies":[{"command":"rejoin list --dir [ROOT]/app","effect":"lists its sessions"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_session_without_directory() {
    let world = world();
    world.add(Amplifier::session(id(1)).in_dir(world.dir("app")).events_only().turn("was killed", ""));
    let moved = Amplifier::session(id(2)).in_dir(world.dir("other")).filed_under("-elsewhere");
    world.add(moved.turn("x", "y"));
    check(&world, "unknown-directory").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"unknown-directory","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"It is unknown where amplifier session 00000001-aaaa-4aaa-8aaa-000000000001 was started. No directory is recorded for it.","measured":"no directory","expected":"one directory of its project","remedy":"rejoin show amplifier:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","remedies":[{"command":"rejoin show amplifier:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","effect":"shows what it was about"},{"command":"rejoin resume amplifier:00000001-aaaa-4aaa-8aaa-000000000001 --in .","effect":"resumes it, in the directory where it belongs"}],"repair":null}
{"code":"unknown-directory","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/-elsewhere/sessions/00000002-aaaa-4aaa-8aaa-000000000002","path_bytes_base64":null}],"evidence":"It is unknown where amplifier session 00000002-aaaa-4aaa-8aaa-000000000002 was started. The recorded directories do not belong to its project -elsewhere: metadata.json says [ROOT]/other.","measured":"only directories of other projects","expected":"one directory of its project","remedy":"rejoin show amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --transcript","remedies":[{"command":"rejoin show amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --transcript","effect":"shows what it was about"},{"command":"rejoin resume amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --in .","effect":"resumes it, in the directory where it belongs"}],"repair":null}
{"kind":"summary","errors":0,"warnings":2,"notes":0,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_slug_collision() {
    let world = world();
    for (number, name) in [(1, "my.app"), (2, "my_app"), (3, "my.app")] {
        world.add(Claude::session(id(number)).in_dir(world.dir(name)).turn("x", "y"));
    }
    check(&world, "slug-collision").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"slug-collision","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"},{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"},{"agent":"claude","id":"00000003-aaaa-4aaa-8aaa-000000000003"}],"paths":[{"path":"[ROOT]/my.app","path_bytes_base64":null},{"path":"[ROOT]/my_app","path_bytes_base64":null}],"evidence":"claude files the sessions of 2 directories in one project, [SLUG]-my-app: [ROOT]/my.app, [ROOT]/my_app. Resuming the newest session of a directory may open a session of another; resuming by id is safe.","measured":"2 directories","expected":"one directory","remedy":"rejoin list --dir [ROOT]/my.app","remedies":[{"command":"rejoin list --dir [ROOT]/my.app","effect":"lists the sessions of one of them, with their ids"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":1,"repairable":0,"sessions":3,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn directory_and_its_link_do_not_collide() {
    let world = world();
    let (real, link) = (world.dir("my-app"), world.root().join("my.app"));
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    world.add(Claude::session(id(1)).in_dir(&real).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&link).turn("x", "y"));
    assert!(found(&world, "slug-collision").is_empty());
}

#[test]
fn doctor_repairs_missing_session_info_with_evidence() {
    let world = world();
    world.add(Amplifier::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir(world.dir("shop")).events_only().turn("was killed", ""));
    check(&world, "session-info-missing").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"session-info-missing","severity":"note","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"amplifier session 00000001-aaaa-4aaa-8aaa-000000000001 has no session-info.json. A server that resumes it from elsewhere may create a second directory with the same id. The evidence points to [ROOT]/app.","measured":"no file","expected":"working_dir and created_at","remedy":"rejoin doctor --fix --check session-info-missing","remedies":[{"command":"rejoin doctor --fix --check session-info-missing","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"backfill","paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}]}}
{"code":"session-info-missing","severity":"note","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-shop/sessions/00000002-aaaa-4aaa-8aaa-000000000002","path_bytes_base64":null}],"evidence":"amplifier session 00000002-aaaa-4aaa-8aaa-000000000002 has no session-info.json. A server that resumes it from elsewhere may create a second directory with the same id. There is not enough evidence to write it: no directory is recorded for it.","measured":"no file","expected":"working_dir and created_at","remedy":"rejoin show amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --transcript","remedies":[{"command":"rejoin show amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --transcript","effect":"shows what it was about"},{"command":"rejoin resume amplifier:00000002-aaaa-4aaa-8aaa-000000000002 --in .","effect":"resumes it, in the directory where it belongs"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":2,"repairable":1,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_repairs_invalid_session_info() {
    let world = world();
    let session = Amplifier::session(id(1)).in_dir(world.dir("app"));
    world.add(session.file("session-info.json", "{\"working_dir\": 7}").turn("x", "y"));
    check(&world, "session-info-invalid").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"session-info-invalid","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"The session-info.json of amplifier session 00000001-aaaa-4aaa-8aaa-000000000001 cannot be used, because its working_dir is not a string. A server that resumes it from elsewhere may create a second directory with the same id. The evidence points to [ROOT]/app.","measured":"its working_dir is not a string","expected":"working_dir and created_at","remedy":"rejoin doctor --fix --check session-info-invalid","remedies":[{"command":"rejoin doctor --fix --check session-info-invalid","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"backfill","paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":1,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_session_info_of_other_project() {
    let world = world();
    let (app, state_dir) = (world.dir("app"), world.dir("shop"));
    world.add(Amplifier::session(id(1)).in_dir(&app).session_info(&state_dir).turn("x", "y"));
    let elsewhere = Amplifier::session(id(2)).in_dir(&app).session_info(&app).metadata("working_dir", json!(state_dir));
    world.add(elsewhere.turn("x", "y"));
    check(&world, "session-info-mismatch").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"session-info-mismatch","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"The session-info.json of amplifier session 00000001-aaaa-4aaa-8aaa-000000000001 says [ROOT]/shop, which does not belong to its project [SLUG]-app. metadata.json says [ROOT]/app, which belongs to it.","measured":"[ROOT]/shop","expected":"a directory of the project [SLUG]-app","remedy":"rejoin resume amplifier:00000001-aaaa-4aaa-8aaa-000000000001 --in [ROOT]/app","remedies":[{"command":"rejoin resume amplifier:00000001-aaaa-4aaa-8aaa-000000000001 --in [ROOT]/app","effect":"resumes it in the directory of its project"},{"command":"rejoin show amplifier:00000001-aaaa-4aaa-8aaa-000000000001","effect":"shows the evidence for each directory"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_empty_sessions() {
    let world = world();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).title("Only a title"));
    world.add(Claude::session(id(2)).in_dir(&app));
    world.add(Amplifier::session(id(3)).in_dir(&app).events_only().without("events.jsonl").session_info(&app));
    check(&world, "empty-session").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"empty-session","severity":"note","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000003-aaaa-4aaa-8aaa-000000000003"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000003-aaaa-4aaa-8aaa-000000000003","path_bytes_base64":null}],"evidence":"amplifier session 00000003-aaaa-4aaa-8aaa-000000000003 has neither a prompt nor a reply: no transcript.","measured":"no transcript","expected":"a prompt or a reply","remedy":"rejoin delete amplifier:00000003-aaaa-4aaa-8aaa-000000000003","remedies":[{"command":"rejoin delete amplifier:00000003-aaaa-4aaa-8aaa-000000000003","effect":"moves it to the trash"},{"command":"rejoin cleanup --empty --any-age","effect":"moves every empty session to the trash"}],"repair":null}
{"code":"empty-session","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000001-aaaa-4aaa-8aaa-000000000001 has neither a prompt nor a reply: a title and no conversation.","measured":"a title and no conversation","expected":"a prompt or a reply","remedy":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin delete claude:00000001-aaaa-4aaa-8aaa-000000000001","effect":"moves it to the trash"},{"command":"rejoin cleanup --empty --any-age","effect":"moves every empty session to the trash"}],"repair":null}
{"code":"empty-session","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","path_bytes_base64":null}],"evidence":"claude session 00000002-aaaa-4aaa-8aaa-000000000002 has neither a prompt nor a reply: zero bytes.","measured":"zero bytes","expected":"a prompt or a reply","remedy":"rejoin delete claude:00000002-aaaa-4aaa-8aaa-000000000002","remedies":[{"command":"rejoin delete claude:00000002-aaaa-4aaa-8aaa-000000000002","effect":"moves it to the trash"},{"command":"rejoin cleanup --empty --any-age","effect":"moves every empty session to the trash"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":3,"repairable":0,"sessions":3,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_torn_line_and_missing_newline() {
    let world = world();
    world.add(sound(&world).torn());
    let whole = world.add(Claude::session(id(2)).in_dir(world.dir("app")).turn("x", "y"));
    let text = std::fs::read_to_string(&whole).expect("a transcript");
    put(&whole, text.trim_end());
    check(&world, "torn-transcript").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"torn-transcript","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"The last line of the transcript of claude session 00000001-aaaa-4aaa-8aaa-000000000001 was cut off, so its last record is lost; everything before it is intact.","measured":"half a record","expected":"a newline at the end","remedy":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","effect":"resumes it"}],"repair":null}
{"code":"torn-transcript","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","path_bytes_base64":null}],"evidence":"The last record of the transcript of claude session 00000002-aaaa-4aaa-8aaa-000000000002 is complete but has no newline; some versions of an agent write the next record on the same line, and then both are lost.","measured":"a record without a newline","expected":"a newline at the end","remedy":"rejoin resume claude:00000002-aaaa-4aaa-8aaa-000000000002","remedies":[{"command":"rejoin resume claude:00000002-aaaa-4aaa-8aaa-000000000002","effect":"resumes it"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":1,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_bad_lines_and_missing_parents() {
    let world = world();
    let app = world.dir("app");
    let record = |uuid: &str, parent: Option<&str>| {
        json!({"type": "user", "uuid": uuid, "parentUuid": parent, "cwd": app, "message": {"content": "x"}}).to_string()
    };
    let path = world.home().join(".claude/projects").join(claude_slug(&app));
    let lines = [
        record("a", None),
        "no record".to_owned(),
        record("b", Some("a")),
        "[]".to_owned(),
        record("c", Some("gone")),
        record("d", Some("c")),
        String::new(),
    ];
    put(&path.join(format!("{}.jsonl", id(1))), lines.join("\n"));
    let transcript = "{\"role\": \"user\", \"content\": \"x\"}\n\0\0\0\n";
    world.add(Amplifier::session(id(2)).in_dir(&app).file("transcript.jsonl", transcript).turn("x", "y"));
    check(&world, "bad-lines").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"bad-lines","severity":"warning","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000002-aaaa-4aaa-8aaa-000000000002/transcript.jsonl","path_bytes_base64":null}],"evidence":"In the transcript of amplifier session 00000002-aaaa-4aaa-8aaa-000000000002, line 2 is not a record. What its agent does with such lines was not measured.","measured":"line 2 is not a record","expected":"one record per line","remedy":"rejoin doctor --fix --check bad-lines","remedies":[{"command":"rejoin doctor --fix --check bad-lines","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"edit-lines","paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000002-aaaa-4aaa-8aaa-000000000002/transcript.jsonl","path_bytes_base64":null}]}}
{"code":"bad-lines","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"In the transcript of claude session 00000001-aaaa-4aaa-8aaa-000000000001, lines 2, 4 are not records. Its agent skips such lines.","measured":"lines 2, 4 are not records","expected":"one record per line","remedy":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","remedies":[{"command":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","effect":"shows every record that can be read"}],"repair":null}
{"kind":"summary","errors":0,"warnings":2,"notes":0,"repairable":1,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reads_large_transcript_only_at_its_ends() {
    let world = world();
    let text = "x".repeat(1000);
    let long = |session: Claude| (0..7000).fold(session, |session, _| session.turn(&text, "ok"));
    let path = world.add(long(sound(&world)));
    let contents = std::fs::read_to_string(&path).expect("a transcript");
    let mut lines: Vec<&str> = contents.lines().collect();
    lines[3] = "near the start";
    lines[200] = "in the middle";
    let last = lines.len() - 3;
    lines[last] = "near the end";
    put(&path, lines.join("\n") + "\n");
    assert!(contents.len() > 8 * 1024 * 1024);
    check(&world, "bad-lines").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"bad-lines","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null}],"evidence":"In the transcript of claude session 00000001-aaaa-4aaa-8aaa-000000000001, lines 4, 3 from the end are not records. Its agent skips such lines.","measured":"lines 4, 3 from the end are not records","expected":"one record per line","remedy":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","remedies":[{"command":"rejoin show claude:00000001-aaaa-4aaa-8aaa-000000000001 --transcript","effect":"shows every record that can be read"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":1}

"#]]);
    let whole: DoctorReport = world.rejoin(["doctor", "--check", "bad-lines", "--deep", "--json"]).code(4).json();
    assert_eq!(whole.findings[0].measured, "lines 4, 201, 14002 are not records");
    assert_eq!(whole.read_at_both_ends, 0);
}

#[test]
fn doctor_reports_and_keeps_orphaned_directory() {
    let world = world();
    let app = world.dir("app");
    let gone = world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok"));
    std::fs::remove_file(gone).expect("a transcript to remove");
    // The transcript was moved without its sub-agents.
    let left = world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y").side_file("tool-results/1.txt", "long"));
    let moved = world.home().join(".claude/projects").join(claude_slug(world.dir("shop")));
    std::fs::create_dir(&moved).expect("a project");
    std::fs::rename(&left, moved.join(left.file_name().expect("a name"))).expect("a move");
    // A running client may have created the directory just now.
    put(&world.home().join(".claude/projects/-new").join(id(3)).join("custom-title.json"), "{}");
    let new = world.home().join(".claude/projects/-new").join(id(3)).join("custom-title.json");
    std::fs::write(new, "{}").expect("a file of this moment");
    check(&world, "orphan-belongings").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"orphan-belongings","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001","path_bytes_base64":null}],"evidence":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001 belonged to the claude session 00000001-aaaa-4aaa-8aaa-000000000001, whose transcript is gone. It holds 2 files.","measured":"no transcript next to it","expected":"a transcript next to it","remedy":"rejoin show claude:agent-a1 --transcript","remedies":[{"command":"rejoin show claude:agent-a1 --transcript","effect":"shows what a sub-agent said in it"}],"repair":null}
{"code":"orphan-belongings","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002","path_bytes_base64":null}],"evidence":"[ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002 belonged to the claude session 00000002-aaaa-4aaa-8aaa-000000000002, whose transcript is elsewhere: [ROOT]/home/.claude/projects/[SLUG]-shop/00000002-aaaa-4aaa-8aaa-000000000002.jsonl. It holds 1 file.","measured":"no transcript next to it","expected":"a transcript next to it","remedy":"mv -n [ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002 [ROOT]/home/.claude/projects/[SLUG]-shop/","remedies":[{"command":"mv -n [ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002 [ROOT]/home/.claude/projects/[SLUG]-shop/","effect":"moves it next to the transcript"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":1,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_does_not_call_unreadable_directory_empty() {
    let world = world();
    let dir = world.home().join(".claude/projects/-usr-bin").join(id(1));
    std::fs::create_dir_all(&dir).expect("a directory");
    // A path longer than the system allows cannot be opened by any user.
    let name = "d".repeat(250);
    let mut at = std::fs::File::open(&dir).expect("a directory");
    for _ in 0..17 {
        rustix::fs::mkdirat(&at, &name, rustix::fs::Mode::RWXU).expect("a directory");
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        at = rustix::fs::openat(&at, &name, flags, rustix::fs::Mode::empty()).expect("a directory").into();
    }
    let then = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().expect("a time");
    std::fs::File::open(&dir).expect("a directory").set_modified(then.into()).expect("a time");
    let findings = found(&world, "orphan-belongings");
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(finding.evidence.contains("A part of it cannot be read: "), "{}", finding.evidence);
    assert!(!finding.evidence.contains("holds nothing"), "{}", finding.evidence);
    assert!(finding.repair.is_none(), "{finding:?}");
    world.rejoin(["doctor", "--fix", "--yes", "--check", "orphan-belongings"]);
    assert!(dir.exists());
}

#[test]
fn doctor_reports_sub_agents_of_missing_session() {
    let world = world();
    let child = Amplifier::session("0000000000000000-1234567890abcdef_helper").in_dir(world.dir("app"));
    let child = child.metadata("parent_id", json!(id(9))).metadata("agent_name", json!("helper"));
    world.add(child.turn("count", "3"));
    check(&world, "orphan-belongings").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"orphan-belongings","severity":"note","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"0000000000000000-1234567890abcdef_helper"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/0000000000000000-1234567890abcdef_helper","path_bytes_base64":null}],"evidence":"The amplifier session 00000009-aaaa-4aaa-8aaa-000000000009 is gone, but 1 sub-agent of it is still there. Only `rejoin show` still leads there.","measured":"no session of that id","expected":"the session that made them","remedy":"rejoin show amplifier:0000000000000000-1234567890abcdef_helper","remedies":[{"command":"rejoin show amplifier:0000000000000000-1234567890abcdef_helper","effect":"shows the first of them"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":1,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_dangling_and_misplaced_pointers() {
    let world = world();
    world.add(sound(&world));
    let apps = world.home().join("workspace/app");
    world.add(Leo::pointer(apps.join("Lost/app"), &id(99)));
    world.add(Leo::pointer(apps.join("Found/app"), &id(1)));
    world.add(Leo::without_id(apps.join("New/app")));
    check(&world, "dangling-pointer").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"dangling-pointer","severity":"warning","agents":["leo"],"sessions":[],"paths":[{"path":"[ROOT]/home/workspace/app/Lost/app/.agent_session.json","path_bytes_base64":null}],"evidence":"[ROOT]/home/workspace/app/Lost/app/.agent_session.json names the session 00000063-aaaa-4aaa-8aaa-000000000063, which cannot be found; leo starts a new session or takes the newest one of the directory.","measured":"no such session","expected":"the id of an existing session","remedy":"rejoin resume [ROOT]/home/workspace/app/Lost/app --fresh","remedies":[{"command":"rejoin resume [ROOT]/home/workspace/app/Lost/app --fresh","effect":"starts a new session there"}],"repair":null}
{"code":"dangling-pointer","severity":"note","agents":["claude","leo"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/workspace/app/Found/app/.agent_session.json","path_bytes_base64":null}],"evidence":"[ROOT]/home/workspace/app/Found/app/.agent_session.json names the claude session 00000001-aaaa-4aaa-8aaa-000000000001, which is in the project [SLUG]-app, not in the project of [ROOT]/home/workspace/app/Found/app. It is resumed in [ROOT]/app.","measured":"project [SLUG]-app","expected":"project [SLUG]-home-workspace-app-Found-app","remedy":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin resume claude:00000001-aaaa-4aaa-8aaa-000000000001","effect":"resumes it"}],"repair":null}
{"code":"dangling-pointer","severity":"note","agents":["leo"],"sessions":[],"paths":[{"path":"[ROOT]/home/workspace/app/New/app/.agent_session.json","path_bytes_base64":null}],"evidence":"[ROOT]/home/workspace/app/New/app/.agent_session.json names no session.","measured":"no id","expected":"the id of an existing session","remedy":"rejoin resume [ROOT]/home/workspace/app/New/app --fresh","remedies":[{"command":"rejoin resume [ROOT]/home/workspace/app/New/app --fresh","effect":"starts a new session there"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":2,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_repairs_stale_cwd_record() {
    let world = world();
    let app = world.dir("app");
    world.add(sound(&world));
    let records = app.join(".claude/cat/sessions");
    put(&records.join(format!("{}.cwd", id(1))), app.join("src").to_str().expect("a path"));
    put(&records.join(format!("{}.cwd", id(2))), app.to_str().expect("a path"));
    put(&world.home().join(".claude/projects/-p/cat/sessions").join(format!("{}.cwd", id(3))), "");
    put(&records.join("notes.txt"), "no record");
    check(&world, "stale-cwd-record").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"stale-cwd-record","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/app/.claude/cat/sessions/00000001-aaaa-4aaa-8aaa-000000000001.cwd","path_bytes_base64":null}],"evidence":"The record [ROOT]/app/.claude/cat/sessions/00000001-aaaa-4aaa-8aaa-000000000001.cwd names [ROOT]/app/src, which does not exist.","measured":"[ROOT]/app/src is missing","expected":"a directory that exists and a session in use","remedy":"rejoin doctor --fix --check stale-cwd-record","remedies":[{"command":"rejoin doctor --fix --check stale-cwd-record","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/app/.claude/cat/sessions/00000001-aaaa-4aaa-8aaa-000000000001.cwd","path_bytes_base64":null}]}}
{"code":"stale-cwd-record","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/app/.claude/cat/sessions/00000002-aaaa-4aaa-8aaa-000000000002.cwd","path_bytes_base64":null}],"evidence":"The record [ROOT]/app/.claude/cat/sessions/00000002-aaaa-4aaa-8aaa-000000000002.cwd is about the session 00000002-aaaa-4aaa-8aaa-000000000002, which cannot be found.","measured":"a session that ended","expected":"a directory that exists and a session in use","remedy":"rejoin doctor --fix --check stale-cwd-record","remedies":[{"command":"rejoin doctor --fix --check stale-cwd-record","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/app/.claude/cat/sessions/00000002-aaaa-4aaa-8aaa-000000000002.cwd","path_bytes_base64":null}]}}
{"code":"stale-cwd-record","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000003-aaaa-4aaa-8aaa-000000000003"}],"paths":[{"path":"[ROOT]/home/.claude/projects/-p/cat/sessions/00000003-aaaa-4aaa-8aaa-000000000003.cwd","path_bytes_base64":null}],"evidence":"The record [ROOT]/home/.claude/projects/-p/cat/sessions/00000003-aaaa-4aaa-8aaa-000000000003.cwd names no directory.","measured":"no directory","expected":"a directory that exists and a session in use","remedy":"rejoin doctor --fix --check stale-cwd-record","remedies":[{"command":"rejoin doctor --fix --check stale-cwd-record","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.claude/projects/-p/cat/sessions/00000003-aaaa-4aaa-8aaa-000000000003.cwd","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":0,"notes":3,"repairable":3,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_keeps_cwd_record_of_live_session() {
    let world = world();
    let app = world.dir("app");
    world.add(sound(&world));
    put(&app.join(".claude/cat/sessions").join(format!("{}.cwd", id(1))), app.to_str().expect("a path"));
    assert_eq!(found(&world, "stale-cwd-record").len(), 1);
    let pid = std::process::id();
    let record = json!({"pid": pid, "sessionId": id(1), "procStart": start_of(pid)});
    put(&world.home().join(".claude/sessions/1.json"), record.to_string());
    assert!(found(&world, "stale-cwd-record").is_empty());
    assert!(found(&world, "leftover-temp").is_empty(), "the registration is of a process that runs");
}

#[test]
fn doctor_reports_refusals_of_jidocode() {
    let world = world();
    let app = world.dir("app");
    world.add(Jido::session(id(1)).in_dir(&app).key("version", json!(2)));
    check(&world, "unsupported-version").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"unsupported-version","severity":"error","agents":["jido"],"sessions":[{"agent":"jido","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000001-aaaa-4aaa-8aaa-000000000001.json","path_bytes_base64":null}],"evidence":"jido session 00000001-aaaa-4aaa-8aaa-000000000001 cannot be loaded: JidoCode refuses it: the version is newer than 1 (unsupported_version).","measured":"unsupported version","expected":"a version that this machine's agent knows","remedy":"rejoin show jido:00000001-aaaa-4aaa-8aaa-000000000001","remedies":[{"command":"rejoin show jido:00000001-aaaa-4aaa-8aaa-000000000001","effect":"shows what its agent rejects"}],"repair":null}
{"kind":"summary","errors":1,"warnings":0,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
    world.add(Jido::session(id(2)).in_dir(&app).key("config", json!(null)).key("todos", json!(null)));
    check(&world, "missing-fields").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"missing-fields","severity":"error","agents":["jido"],"sessions":[{"agent":"jido","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000002-aaaa-4aaa-8aaa-000000000002.json","path_bytes_base64":null}],"evidence":"jido session 00000002-aaaa-4aaa-8aaa-000000000002 cannot be loaded: JidoCode refuses it: missing fields: config, todos (missing_fields).","measured":"missing fields","expected":"every field that the agent requires","remedy":"rejoin show jido:00000002-aaaa-4aaa-8aaa-000000000002","remedies":[{"command":"rejoin show jido:00000002-aaaa-4aaa-8aaa-000000000002","effect":"shows what its agent rejects"}],"repair":null}
{"kind":"summary","errors":1,"warnings":0,"notes":0,"repairable":0,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
    world.add(Jido::session(id(3)).in_dir(&app).followed_by(&" ".repeat(10 * 1024 * 1024)));
    let oversize = found(&world, "oversize");
    assert_eq!((oversize.len(), oversize[0].severity), (1, Severity::Error));
    assert!(oversize[0].evidence.contains("file_too_large"), "{}", oversize[0].evidence);
    world.add(Jido::session(id(4)).in_dir(&app).key("conversation", json!({})));
    check(&world, "invalid-content").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"invalid-content","severity":"error","agents":["jido"],"sessions":[{"agent":"jido","id":"00000004-aaaa-4aaa-8aaa-000000000004"}],"paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000004-aaaa-4aaa-8aaa-000000000004.json","path_bytes_base64":null}],"evidence":"jido session 00000004-aaaa-4aaa-8aaa-000000000004 cannot be loaded: JidoCode refuses it: the conversation is not a list (invalid_conversation).","measured":"invalid content","expected":"content in the agent's format","remedy":"rejoin show jido:00000004-aaaa-4aaa-8aaa-000000000004","remedies":[{"command":"rejoin show jido:00000004-aaaa-4aaa-8aaa-000000000004","effect":"shows what its agent rejects"}],"repair":null}
{"kind":"summary","errors":1,"warnings":0,"notes":0,"repairable":0,"sessions":4,"accepted":0,"read_at_both_ends":0}

"#]]);
    world.add(Jido::session(id(5)).in_dir(&app).unsigned());
    check(&world, "unsigned").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"unsigned","severity":"note","agents":["jido"],"sessions":[{"agent":"jido","id":"00000005-aaaa-4aaa-8aaa-000000000005"}],"paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000005-aaaa-4aaa-8aaa-000000000005.json","path_bytes_base64":null}],"evidence":"jido session 00000005-aaaa-4aaa-8aaa-000000000005 has no signature, so a change to it goes unnoticed; jido loads it with a warning and signs it when it is closed.","measured":"no signature","expected":"a signature","remedy":"rejoin resume jido:00000005-aaaa-4aaa-8aaa-000000000005","remedies":[{"command":"rejoin resume jido:00000005-aaaa-4aaa-8aaa-000000000005","effect":"resumes it"}],"repair":null}
{"kind":"summary","errors":0,"warnings":0,"notes":1,"repairable":0,"sessions":5,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_reports_invalid_signature() {
    let world = world();
    let path = world.add(Jido::session(id(1)).in_dir(world.dir("app")));
    world.add(Jido::session(id(2)).in_dir(world.dir("app")));
    let text = std::fs::read_to_string(&path).expect("a session").replace("Written.", "Forged.");
    put(&path, text);
    let findings = found(&world, "signature-invalid");
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].severity, findings[0].sessions[0].id.as_str()), (Severity::Error, id(1).as_str()));
    assert!(findings[0].evidence.contains("signature_verification_failed"), "{}", findings[0].evidence);
    assert_eq!(findings[0].remedy, format!("rejoin show jido:{} --transcript", id(1)));
}

#[test]
fn doctor_removes_temporary_files_of_dead_writer() {
    let world = world().with_processes();
    let app = world.dir("app");
    let session = Amplifier::session(id(1)).in_dir(&app).session_info(&app).turn("x", "y");
    let dir = world.add(session.file(".transcript_x1y2.tmp", "half").file("notes.tmp", "a person's"));
    world.add(Jido::session(id(2)).in_dir(&app));
    let jido = world.home().join(".jido_code/sessions");
    put(&jido.join(format!("{}.json.tmp", id(3))), "{");
    put(
        &world.home().join(".claude/sessions/7.json"),
        json!({"pid": 4_000_000, "sessionId": id(4), "procStart": "1"}).to_string(),
    );
    // A writer may still use these files: one was just modified, the other is open.
    std::fs::write(dir.join(".metadata_new1.tmp"), "half").expect("a file of this moment");
    put(&dir.join(".metadata_open.tmp"), "half");
    let open = std::fs::File::open(dir.join(".metadata_open.tmp")).expect("an open file");
    check(&world, "leftover-temp").code(0).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"leftover-temp","severity":"note","agents":["amplifier"],"sessions":[{"agent":"amplifier","id":"00000001-aaaa-4aaa-8aaa-000000000001"}],"paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001/.transcript_x1y2.tmp","path_bytes_base64":null}],"evidence":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001/.transcript_x1y2.tmp (4 bytes) is a temporary file of a program that died before it finished; no process has it open.","measured":"4 bytes","expected":"no file","remedy":"rejoin doctor --fix --check leftover-temp","remedies":[{"command":"rejoin doctor --fix --check leftover-temp","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.amplifier/projects/[SLUG]-app/sessions/00000001-aaaa-4aaa-8aaa-000000000001/.transcript_x1y2.tmp","path_bytes_base64":null}]}}
{"code":"leftover-temp","severity":"note","agents":["claude"],"sessions":[{"agent":"claude","id":"00000004-aaaa-4aaa-8aaa-000000000004"}],"paths":[{"path":"[ROOT]/home/.claude/sessions/7.json","path_bytes_base64":null}],"evidence":"[ROOT]/home/.claude/sessions/7.json registers process 4000000, which has ended, so the session is not in use.","measured":"no such process","expected":"a process that runs","remedy":"rejoin doctor --fix --check leftover-temp","remedies":[{"command":"rejoin doctor --fix --check leftover-temp","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.claude/sessions/7.json","path_bytes_base64":null}]}}
{"code":"leftover-temp","severity":"note","agents":["jido"],"sessions":[],"paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000003-aaaa-4aaa-8aaa-000000000003.json.tmp","path_bytes_base64":null}],"evidence":"[ROOT]/home/.jido_code/sessions/00000003-aaaa-4aaa-8aaa-000000000003.json.tmp (1 byte) is a temporary file of a program that died before it finished; no process has it open.","measured":"1 byte","expected":"no file","remedy":"rejoin doctor --fix --check leftover-temp","remedies":[{"command":"rejoin doctor --fix --check leftover-temp","effect":"fixes those that it can fix without loss"}],"repair":{"kind":"trash","paths":[{"path":"[ROOT]/home/.jido_code/sessions/00000003-aaaa-4aaa-8aaa-000000000003.json.tmp","path_bytes_base64":null}]}}
{"kind":"summary","errors":0,"warnings":0,"notes":3,"repairable":3,"sessions":2,"accepted":0,"read_at_both_ends":0}

"#]]);
    drop(open);
    assert_eq!(found(&world, "leftover-temp").len(), 4);
}

#[test]
fn doctor_groups_upcoming_deletions_by_day() {
    let world = World::new();
    world.add(sound(&world));
    world.add(Claude::session(id(2)).in_dir(world.dir("app")).turn("x", "y"));
    // The record is also old; only the time of the file counts.
    let fresh = world.add(Claude::session(id(3)).in_dir(world.dir("app")).turn("x", "y"));
    std::fs::File::options()
        .append(true)
        .open(fresh)
        .and_then(|file| file.set_modified("2026-03-01T11:00:00Z".parse::<jiff::Timestamp>().expect("a time").into()))
        .expect("a time");
    check(&world, "expires-soon").code(4).stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"expires-soon","severity":"warning","agents":["claude"],"sessions":[{"agent":"claude","id":"00000001-aaaa-4aaa-8aaa-000000000001"},{"agent":"claude","id":"00000002-aaaa-4aaa-8aaa-000000000002"}],"paths":[{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000001-aaaa-4aaa-8aaa-000000000001.jsonl","path_bytes_base64":null},{"path":"[ROOT]/home/.claude/projects/[SLUG]-app/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","path_bytes_base64":null}],"evidence":"claude deletes 2 sessions when it starts on 2026-03-03 or later: it keeps a session for 30 days since its file was last changed (its default for cleanupPeriodDays). To keep them longer, set cleanupPeriodDays in [ROOT]/home/.claude/settings.json.","measured":"deleted from 2026-03-03 on","expected":"kept","remedy":"rejoin archive --expiring 7","remedies":[{"command":"rejoin archive --expiring 7","effect":"copies them to the archive, out of its reach"}],"repair":null}
{"kind":"summary","errors":0,"warnings":1,"notes":0,"repairable":0,"sessions":3,"accepted":0,"read_at_both_ends":0}

"#]]);
    let within = |days: &str| {
        let args = ["doctor", "--check", "expires-soon", "--expiring", days, "--json"];
        world.rejoin(args).json::<DoctorReport>().findings.len()
    };
    assert_eq!((within("1"), within("2")), (0, 1));
    let named: DoctorReport = world.rejoin(["doctor", &id(2), "--check", "expires-soon", "--json"]).code(4).json();
    let finding = &named.findings[0];
    assert_eq!((finding.sessions.len(), &*finding.sessions[0].id, finding.paths.len()), (1, &*id(2), 1));
    assert_eq!(finding.remedy, format!("rejoin archive claude:{}", id(2)));
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 10}"#);
    world.rejoin(["archive", &id(2)]).code(0);
    let findings = found(&world, "expires-soon");
    assert_eq!((findings[0].sessions.len(), &*findings[0].sessions[0].id), (1, &*id(1)), "the archive holds the other");
    assert_eq!(findings[0].measured, "deleted when the agent next starts");
    assert!(findings[0].evidence.contains("cleanupPeriodDays in "), "{}", findings[0].evidence);
    put(&world.home().join(".claude/settings.json"), "{");
    assert!(found(&world, "expires-soon").is_empty(), "with settings that it cannot read, the client deletes nothing");
}

#[test]
fn doctor_names_project_whose_settings_delete_sessions_of_all() {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 36500}"#);
    world.add(sound(&world));
    let scratch = world.dir("scratch");
    assert!(found(&world, "expires-soon").is_empty());
    put(&scratch.join(".claude/settings.json"), r#"{"cleanupPeriodDays": 7}"#);
    assert!(found(&world, "expires-soon").is_empty(), "the client was never started there");
    put(
        &world.home().join(".claude.json"),
        json!({"projects": {"/gone": {}, scratch.to_string_lossy(): {}}}).to_string(),
    );
    let finding = found(&world, "expires-soon").remove(0);
    let expected = format!(
        "claude deletes 1 session when it is next started in {}: it keeps a session for 7 days",
        scratch.display()
    );
    assert!(finding.evidence.starts_with(&expected), "{}", finding.evidence);
    let archived = world.rejoin(["archive", "--expiring", "7", "--dry-run"]).code(0).stdout();
    assert!(archived.contains(&id(1)[..8]), "{archived}");
    world.add(Claude::session(id(2)).in_dir(&scratch).turn("x", "y"));
    let warning = format!("cleanupPeriodDays in {}/.claude/settings.json is 7", scratch.display());
    let warns = |n: u32| world.rejoin(["resume", &id(n), "--print"]).code(0).stderr().contains(&warning);
    assert_eq!([1, 2].map(warns), [false, true]);
    std::fs::remove_dir_all(world.home().join(".claude/projects").join(claude_slug(&scratch))).expect("a session");
    // Local settings replace those of the repository.
    put(&scratch.join(".claude/settings.local.json"), r#"{"cleanupPeriodDays": 36500}"#);
    assert!(found(&world, "expires-soon").is_empty());
    put(&scratch.join(".claude/settings.local.json"), r#"{"cleanupPeriodDays": 0}"#);
    let finding = found(&world, "expires-soon").remove(0);
    assert!(finding.evidence.starts_with("claude may delete 1 session when it is next started in "), "{finding:?}");
}

#[test]
fn doctor_reports_invalid_retention_period() {
    let world = World::new();
    world.add(sound(&world));
    for (value, refused) in
        [("0", true), ("-1", true), ("0.5", true), ("\"90\"", true), ("90.0", false), ("1e30", false)]
    {
        put(&world.home().join(".claude/settings.json"), format!("{{\"cleanupPeriodDays\": {value}}}"));
        let findings = found(&world, "expires-soon");
        assert_eq!(findings.len(), usize::from(refused), "{value}: {findings:?}");
        for finding in findings {
            assert_eq!(finding.measured, format!("cleanupPeriodDays is {value}"));
            let expected = "claude may delete 1 session when it next starts: cleanupPeriodDays in ";
            assert!(finding.evidence.starts_with(expected), "{}", finding.evidence);
        }
    }
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 0}"#);
    let archived = world.rejoin(["archive", "--expiring", "7", "--dry-run"]).code(0).stdout();
    assert!(archived.contains(&id(1)[..8]), "what may be deleted at once is archived as well: {archived}");
}

#[test]
fn doctor_reports_unreadable_file_with_reason() {
    let world = world();
    world.add(sound(&world));
    let fifo = world.home().join(".claude/projects/-p").join(format!("{}.jsonl", id(2)));
    std::fs::create_dir_all(fifo.parent().expect("a directory")).expect("a directory");
    make_fifo(&fifo);
    check(&world, "unreadable").code(4).stderr_eq("").stdout_eq(str![[r#"
{"format_version":"1.0","kind":"doctor-report"}
{"code":"unreadable","severity":"error","agents":["claude"],"sessions":[],"paths":[{"path":"[ROOT]/home/.claude/projects/-p/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","path_bytes_base64":null}],"evidence":"[ROOT]/home/.claude/projects/-p/00000002-aaaa-4aaa-8aaa-000000000002.jsonl cannot be read: it is not a regular file.","measured":"it is not a regular file","expected":"a file or directory that can be read","remedy":"ls -ld [ROOT]/home/.claude/projects/-p/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","remedies":[{"command":"ls -ld [ROOT]/home/.claude/projects/-p/00000002-aaaa-4aaa-8aaa-000000000002.jsonl","effect":"shows whose it is and who may read it"}],"repair":null}
{"kind":"summary","errors":1,"warnings":0,"notes":0,"repairable":0,"sessions":1,"accepted":0,"read_at_both_ends":0}

"#]]);
}

#[test]
fn doctor_groups_findings_with_commands() {
    let world = world();
    world.add(sound(&world));
    world.add(sound(&world).filed_under("-somewhere-else"));
    world.add(Jido::session(id(9)).in_dir(world.dir("app")).key("version", json!(2)));
    for number in 11..16 {
        world.add(Claude::session(id(number)).in_dir(world.dir("app")));
    }
    world.rejoin(["doctor"]).code(4).stderr_eq("").stdout_eq(str![[r#"
error unsupported-version: it was written by a newer version of its agent
  jido 00000009 Demo: unsupported version
    rejoin show jido:00000009-aaaa-4aaa-8aaa-000000000009  shows what its agent rejects

warning duplicate-session: the id has several copies
  claude 00000001 add a test: identical
    rejoin doctor --fix --check duplicate-session  fixes those that it can fix without loss

note empty-session: it has neither a prompt nor a reply (5 times) (`rejoin doctor --check empty-session`)

1 error, 1 warning, 5 notes in 2 sessions and 5 that `list` shows with --all. `rejoin doctor --fix` fixes 1 without losing anything.

"#]]);
}

#[test]
fn filters_limit_the_findings() {
    let world = world();
    let (app, state_dir) = (world.dir("app"), world.dir("shop"));
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y").torn());
    world.add(Claude::session(id(2)).in_dir(&state_dir).turn("x", "y").torn());
    world.add(Amplifier::session(id(3)).in_dir(app.join("gone")).turn("x", "y"));
    let codes = |args: &[&str]| -> Vec<String> {
        let report: DoctorReport = world.rejoin(["doctor", "--json"].iter().chain(args)).json();
        report.findings.iter().map(|finding| finding.code.clone()).collect()
    };
    let path = |dir: &Path| dir.to_str().expect("a path").to_owned();
    assert_eq!(codes(&[]), ["missing-directory", "torn-transcript", "torn-transcript", "session-info-missing"]);
    assert_eq!(codes(&["--agent", "amplifier"]), ["missing-directory", "session-info-missing"]);
    assert_eq!(codes(&["--agent", "jido", "--agent", "claude"]), ["torn-transcript", "torn-transcript"]);
    assert_eq!(codes(&["--dir", &path(&state_dir)]), ["torn-transcript"]);
    assert_eq!(codes(&["--dir", &path(&app)]), ["missing-directory", "torn-transcript", "session-info-missing"]);
    assert_eq!(codes(&["--check", "session-info-missing"]), ["session-info-missing"]);
    assert_eq!(codes(&["--check", "unreadable", "--check", "missing-directory"]), ["missing-directory"]);
    assert_eq!(codes(&["--dir", "/nowhere"]), [""; 0]);
}

#[test]
fn exit_code_depends_on_the_findings() {
    let world = world();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")));
    world.rejoin(["doctor", "--quiet"]).code(0);
    world.rejoin(["doctor", "--strict"]).code(4);
    world.add(sound(&world).torn());
    for format in ["table", "json", "ndjson"] {
        world.rejoin(["doctor", "--format", format]).code(4).stderr_eq("");
    }
    world.rejoin(["doctor", "--check", "empty-session"]).code(0);
}

#[test]
fn doctor_hides_accepted_finding_until_undo() {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    for n in 1..=2 {
        world.add(Claude::session(id(n)).in_dir(format!("/gone/{n}")).turn("x", "y"));
    }
    world.rejoin(["doctor"]).code(4);
    let plan = world.rejoin(["doctor", "--accept", "missing-directory", &id(1), "--dry-run"]).code(0).stdout();
    assert!(plan.contains("would accept  1 finding of missing-directory"), "{plan}");
    world.rejoin(["doctor", "--accept", "missing-directory", &id(1)]).code(0);
    let letter = world.rejoin(["doctor"]).code(4).stdout();
    assert!(letter.contains("/gone/2") && !letter.contains("/gone/1"), "{letter}");
    assert!(letter.contains("1 accepted finding not shown; `rejoin doctor --accepted` shows them."), "{letter}");
    let accepted = world.rejoin(["doctor", "--accepted"]).code(4).stdout();
    assert!(accepted.contains("/gone/1") && !accepted.contains("/gone/2"), "{accepted}");

    world.rejoin(["doctor", "--accept", "missing-directory"]).code(0);
    world.rejoin(["doctor"]).code(0);
    world.rejoin(["doctor", "--accept", "missing-directory"]).code(0).stdout_eq("Nothing to do.\n");
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code(0).json();
    assert_eq!((report.findings.len(), report.accepted), (0, 2));
    // A further copy of an accepted session is another finding.
    let copy = |dir: &str, prompt: &str| Claude::session(id(7)).in_dir("/usr").filed_under(dir).turn(prompt, "y");
    world.add(copy("-usr-a", "one"));
    world.add(copy("-usr-b", "two"));
    world.rejoin(["doctor", "--accept", "duplicate-session"]).code(0);
    let duplicates = || world.rejoin(["doctor", "--check", "duplicate-session", "--json"]).json::<DoctorReport>();
    assert_eq!((duplicates().findings.len(), duplicates().accepted), (0, 1));
    world.add(copy("-usr-c", "three"));
    assert!(!duplicates().findings.is_empty());
    world.rejoin(["undo"]).code(0);
    for dir in ["-usr-a", "-usr-b", "-usr-c"] {
        std::fs::remove_dir_all(world.home().join(".claude/projects").join(dir)).expect("a project");
    }
    // Another session in the same directory is another finding.
    world.add(Claude::session(id(3)).in_dir("/gone/1").turn("x", "y"));
    assert!(world.rejoin(["doctor"]).code(4).stdout().contains("/gone/1: 2 sessions"));
    std::fs::remove_dir_all(world.home().join(".claude/projects/-gone-1")).expect("a project");

    world.rejoin(["undo"]).code(0);
    world.rejoin(["doctor"]).code(4);
    put(&world.home().join(".local/state/rejoin/accepted.json"), "{");
    let damaged = world.rejoin(["doctor"]).code(4);
    assert!(damaged.stderr().contains("no finding counts as accepted"), "{}", damaged.stderr());
    world.rejoin(["doctor", "--accept", "missing-directory"]).code(1);
}

#[test]
fn doctor_shows_worst_examples_first() {
    let world = World::new();
    for n in 1..=9 {
        let dir = if n == 1 { "/gone/one" } else { "/gone/zone" };
        world.add(Claude::session(id(n)).in_dir(dir).turn("x", "y"));
    }
    let letter = world.rejoin(["doctor", "--format", "table"]).code(4).stdout();
    let lines: Vec<&str> = letter.lines().map(str::trim_start).collect();
    let at = lines.iter().position(|line| line.starts_with("/gone/zone: 8 sessions")).expect("the worst");
    assert!(lines[at + 1].starts_with("rejoin resume claude:") && lines[at + 2].contains("/gone/zone"), "{letter}");
    assert!(lines[at + 3..].iter().any(|line| line.starts_with("/gone/one: 1 session")), "{letter}");
}

#[test]
fn list_checks_lists_every_check() {
    let world = World::new();
    world.rejoin(["doctor", "--list-checks", "--format", "table"]).code(0).stdout_eq(str![[r#"
duplicate-session      error, warning, note  the id has several copies
shared-id              warning               several agents have a session with the same id
ambiguous-prefix       warning               the short id that the agent prints matches several sessions
misfiled-session       warning               its recorded directory belongs to another project
missing-directory      warning               its launch directory does not exist here
linked-directory       warning               its launch directory leads to another one, where its agent does not find it
unknown-directory      warning               the directory it was started in is unknown
slug-collision         note                  one project on disk holds sessions of several directories
session-info-missing   note                  it has no session-info.json
session-info-invalid   warning               its session-info.json is unusable
session-info-mismatch  warning               its session-info.json names a directory of another project
empty-session          note                  it has neither a prompt nor a reply
unknown-format         warning               it has records in an unknown format; update rejoin, and report it if that does not help
torn-transcript        warning, note         the last line of its transcript was cut off
bad-lines              warning               its transcript has lines that cannot be read
broken-chain           warning               a record names a parent that is missing, so a resume loses the messages before it
other-branches         warning, note         its agent's resume shows one of its branches, and not the messages on others
stuck-session          warning               its last replies are API errors that a retry does not fix
orphan-belongings      warning, note         files of a session are not next to its transcript
dangling-pointer       warning, note         a file names a session but does not lead to it
stale-cwd-record       note                  a record of a session's directory is no longer needed
signature-invalid      error                 its signature does not match its content and this machine's key
unsigned               note                  it has no signature, and JidoCode accepts it with a warning
unsupported-version    error                 it was written by a newer version of its agent
missing-fields         error                 fields that its agent requires are missing
oversize               error                 it is too large for its agent to load
invalid-content        error                 its content is not in its agent's format
cannot-open            error                 its agent cannot open it as it is
unlisted               warning, note         its agent's own list does not lead to it, so the agent does not find it, or not all of it
archive-mismatch       warning               its agent's list and its place disagree whether it is closed
planted                warning               it came with a directory that its agent has not registered, so anybody may have written it
future-time            warning               it holds a time that is still to come
leftover-temp          note                  a program that died left a file behind
unread-file            warning, note         a file next to sessions may hold a conversation, and no session is read from it
gone-session           note                  a list of its agent names sessions that have no files
large-session          note                  its transcript is so large that its agent may not open it
large-output           note                  its background tasks left much output outside of its agent's store
expires-soon           warning, note         its agent deletes it soon
unreadable             error                 it could not be read
interrupted-run        error                 a run of rejoin did not finish

"#]]);
    let listed: DoctorChecks = world.rejoin(["doctor", "--list-checks", "--json"]).code(0).json();
    assert_eq!(listed.checks.len(), 40);
    let lines = world.rejoin(["doctor", "--list-checks", "--format", "ndjson"]).code(0).stdout();
    assert_eq!(lines.lines().count(), 42);
    let refused = world.rejoin(["doctor", "--check", "torn-transcrit"]).code(2).stderr();
    assert!(refused.contains("tip: a similar value exists: 'torn-transcript'"), "{refused}");
    world.rejoin(["doctor", "--list-checks", "--deep"]).code(2);
}

#[test]
fn page_documents_every_check_with_severities() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/doctor.md")).expect("docs/doctor.md");
    let listed: DoctorChecks = World::new().rejoin(["doctor", "--list-checks", "--json"]).json();
    for check in listed.checks {
        let severities: Vec<String> =
            check.severities.iter().map(|severity| format!("{severity:?}").to_lowercase()).collect();
        let item = format!("* **`{}`** ({}): ", check.code, severities.join(", "));
        assert!(page.contains(&item), "docs/doctor.md has no item {item}");
    }
}

#[test]
fn ndjson_lines_equal_json_items() {
    let world = world();
    world.add(sound(&world).torn());
    world.add(Amplifier::session(id(2)).in_dir("/gone/app").turn("x", "y"));
    let lines = world.rejoin(["doctor", "--format", "ndjson"]).code(4).stdout();
    let lines: Vec<&str> = lines.lines().collect();
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code(4).json();
    crate::contract::parse::<Header<crate::contract::DoctorKind>>(lines[0]);
    assert_eq!(lines.len(), report.findings.len() + 2);
    for (line, finding) in lines[1..].iter().zip(&report.findings) {
        assert_eq!(crate::contract::parse::<Finding>(line).evidence, finding.evidence);
    }
    let summary: crate::contract::DoctorSummary = crate::contract::parse(lines[lines.len() - 1]);
    assert_eq!((summary.errors, summary.warnings, summary.notes), (0, 2, 1));
    assert_eq!((report.errors, report.warnings, report.notes, report.repairable), (0, 2, 1, 1));
}

#[test]
fn unreadable_directory_hides_nothing_else() {
    let world = world();
    world.add(sound(&world).torn());
    let closed = world.home().join(".claude/projects/-closed");
    std::fs::create_dir(&closed).expect("a directory");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("a mode");
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code(4).json();
    assert!(report.findings.iter().any(|finding| finding.code == "torn-transcript"));
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn doctor_reports_no_false_error_for_real_data() {
    // Correct findings in that data: its directories do not exist on this machine, some files were torn or damaged on
    // purpose, no file has the directory of a session whose first turn failed, and one id may have two conversations.
    let true_warnings = ["missing-directory", "unknown-directory", "torn-transcript", "bad-lines", "duplicate-session"];
    let true_errors = ["duplicate-session"];
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let Ok(folders) = std::fs::read_dir(folders) else {
        println!("skipped: there is no ../shared/corpus beside the checkout");
        return;
    };
    for folder in folders.filter_map(Result::ok) {
        let name = folder.file_name().into_string().expect("a name");
        let Some(folder) = corpus(&name) else { continue };
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        let answer = world.with("REJOIN_NOW", "2026-11-26T00:00:00Z").rejoin(["doctor", "--deep", "--json"]);
        let report: DoctorReport = answer.json();
        for finding in report.findings.iter().filter(|finding| finding.severity != Severity::Note) {
            let is_true = match finding.severity {
                Severity::Error => true_errors.contains(&finding.code.as_str()),
                _ => true_warnings.contains(&finding.code.as_str()),
            };
            assert!(is_true, "{name}: {} {}", finding.code, finding.evidence);
        }
    }
}

#[test]
fn doctor_and_resume_name_transcript_without_records() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n";
    for text in [pointer, "{\"type\":\"user\"}\r{\"type\":\"assistant\"}\r", "\u{1f}\u{8b}"] {
        let world = World::new();
        let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
        put(&path, text);
        let report = world.rejoin(["doctor", "--check", "bad-lines", "--check", "torn-transcript"]).code(4).stdout();
        assert!(report.contains("No line of the transcript of claude session"), "{report}");
        assert!(!report.contains("torn-transcript"), "{report}");
        let warning = world.rejoin(["resume", &id(1), "--print"]).stderr();
        assert!(warning.contains("is a record, so claude may find no conversation"), "{warning}");
    }
}
