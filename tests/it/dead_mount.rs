//! Directories on mounts whose server does not answer: no command waits for them, or reports them as missing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::contract::DoctorReport;
use crate::fixtures::dead_mount::{DeadMount, Left};
use crate::fixtures::{Amplifier, Claude, claude_slug, id, put};
use crate::terminal::shell;
use crate::world::{World, stride};

const MOUNTS: u32 = 10;
/// Maximum additional time of a command because of dead mounts.
const LONGER: Duration = Duration::from_secs(2);

/// Creates a world with two sessions in ordinary directories, and ten whose directories are each on a mount, some
/// behind a link. Its stores have unusual layouts: linked as a whole and in parts, shared, in cycles, and on such
/// mounts.
fn world() -> (World, Vec<PathBuf>) {
    let world = World::with_agents().with_processes();
    let points: Vec<PathBuf> = (0..MOUNTS).map(|n| world.dir(&format!("net/{n}"))).collect();
    for (n, point) in (0_u32..).zip(&points) {
        let dir = match n % 3 {
            0 => {
                let link = world.root().join(format!("link{n}"));
                std::os::unix::fs::symlink(point, &link).expect("a link");
                link.join("app")
            }
            _ => point.join("app"),
        };
        std::fs::create_dir_all(&dir).expect("a directory");
        if n % 2 == 0 {
            world.add(Claude::session(id(n + 10)).in_dir(&dir).turn(&format!("question {n}"), "Yes."));
        } else {
            world.add(Amplifier::session(id(n + 10)).in_dir(&dir).turn(&format!("question {n}"), "Yes."));
        }
    }
    world.add(Claude::session(id(1)).in_dir(world.dir("shop")).turn("question shop", "Yes."));
    world.add(Claude::session(id(2)).in_dir(world.root().join("gone")).turn("question gone", "Yes."));
    put(&world.home().join(".config/rejoin/config.toml"), "");
    link_stores(&world, &points);
    (world, points)
}

/// Links at every level of the stores, which neither add a session nor hide one.
fn link_stores(world: &World, points: &[PathBuf]) {
    let home = world.home();
    let link = |target: &Path, name: &str| {
        let link = home.join(name);
        std::fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
        std::os::unix::fs::symlink(target, link).expect("a link");
    };
    // The store of Amplifier and a project and a transcript of Claude Code are kept with the dotfiles.
    std::fs::create_dir_all(home.join("dotfiles")).expect("a directory");
    for name in [".amplifier".to_owned(), format!(".claude/projects/{}", claude_slug(world.dir("shop")))] {
        let there = home.join("dotfiles").join(name.rsplit('/').next().expect("a name"));
        std::fs::rename(home.join(&name), &there).expect("a move");
        link(&there, &name);
    }
    let transcript = format!(".claude/projects/{}/{}.jsonl", claude_slug(world.root().join("gone")), id(2));
    std::fs::rename(home.join(&transcript), home.join("dotfiles/gone.jsonl")).expect("a move");
    link(&home.join("dotfiles/gone.jsonl"), &transcript);
    // Accounts share projects, and projects have several names.
    link(Path::new("../.claude/projects"), ".claude-work/projects");
    link(&home.join(".claude"), ".claude-same");
    link(Path::new(&claude_slug(world.root().join("gone"))), ".claude/projects/-another-name");
    // Circular and dangling links.
    link(Path::new(".."), ".claude/projects/-circle");
    link(Path::new("-there"), ".claude/projects/-back");
    link(Path::new("-back"), ".claude/projects/-there");
    link(&world.root().join("unplugged"), ".claude/projects/-unplugged");
    // Parts of stores, and whole ones, are on mounts.
    link(&points[0].join("projects/-app"), ".claude/projects/-net");
    link(&points[1].join(format!("{}.jsonl", id(3))), &format!(".claude/projects/-usr-bin/{}.jsonl", id(3)));
    link(&points[2].join("codex"), ".codex");
    link(&points[3], ".gemini");
    link(&points[4].join("opencode.db"), ".local/share/opencode/opencode.db");
    link(&points[5].join("sessions"), ".copilot/session-state");
}

#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn mounted(points: &[PathBuf], left: Left) -> Option<Vec<DeadMount>> {
    match points.iter().map(|point| DeadMount::at(point, left)).collect() {
        Ok(mounts) => Some(mounts),
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

/// Variables of a run.
type Variables = Vec<(&'static str, PathBuf)>;

/// Returns every command, with paths on dead mounts for each path argument.
fn commands(world: &World) -> Vec<(Vec<String>, Variables)> {
    let net = |n: u32| world.root().join(format!("net/{n}"));
    let below = |n: u32| net(n).join("app").to_string_lossy().into_owned();
    let (one, two, three) = (id(10), id(11), id(12));
    let plain: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["list", "--all", "--counts", "--json"],
        vec!["agents"],
        vec!["show", &one, "--transcript"],
        vec!["search", "question"],
        vec!["stats"],
        vec!["export", &one],
        vec!["show", "--path", &one],
        vec!["resume", &one, "--print"],
        vec!["resume", &two, "--json"],
        vec!["resume", &one],
        vec!["resume", &id(1), "--print"].into_iter().map(|word| &*word.to_owned().leak()).collect(),
        vec!["backfill", "--every", "--dry-run"],
        vec!["archive", "--every"],
        vec!["archive", "--verify"],
        vec!["list", "--archived"],
        vec!["restore", &one, "--dry-run"],
        vec!["move", "--detect"],
        vec!["rename", &one, "Other", "--dry-run"],
        vec!["delete", &one, "--copy", "1", "--dry-run"],
        vec!["cleanup", "--older-than", "1d", "--dry-run"],
        vec!["cleanup", "--older-than", "1d", "--yes"],
        vec!["undo"],
        vec!["delete", &three, "--dry-run"],
        vec!["pin", &one],
        vec!["pin", "--remove", &one],
        vec!["undo", "--list"],
        vec!["undo", "--purge", "--every", "--dry-run"],
        vec!["doctor", "--all-findings"],
        vec!["doctor", "--deep"],
        vec!["doctor", "--fix"],
        vec!["hook", "status"],
        vec!["config"],
        vec!["help"],
        vec!["--version"],
    ];
    let none = Variables::new;
    let mut all: Vec<_> =
        plain.into_iter().map(|args| (args.into_iter().map(str::to_owned).collect(), none())).collect();
    let mut add = |args: &[&str], variables: Variables| {
        all.push((args.iter().map(|arg| (*arg).to_owned()).collect(), variables));
    };
    add(&["list", "--dir", &below(1)], none());
    add(&["move", &below(1), &below(2), "--dry-run"], none());
    add(&["move", &below(1), world.dir("shop").to_str().expect("a path"), "--dry-run"], none());
    add(&["resume", &id(1), "--in", &below(4), "--print"], none());
    add(&["show", &below(4)], none());
    add(&["export", &id(1), "--format", "markdown", "--output", &below(5)], none());
    add(&["archive", "--every", "--archive-dir", &below(6)], none());
    add(&["list", "--archived", "--archive-dir", &below(6)], none());
    add(&["--home", &below(7), "list"], none());
    add(&["save", "session-info", "--session-dir", &below(8), "--working-dir", &below(8)], none());
    add(&["list"], vec![("CLAUDE_CONFIG_DIR", net(3).join("claude")), ("CODEX_HOME", net(4))]);
    add(&["doctor"], vec![("CLAUDE_CONFIG_DIR", net(3).join("claude")), ("CODEX_HOME", net(4))]);
    add(&["cleanup", "--older-than", "1d", "--dry-run"], vec![("XDG_STATE_HOME", net(5).join("state"))]);
    add(&["list"], vec![("XDG_DATA_HOME", net(6).join("data")), ("XDG_CONFIG_HOME", net(6).join("config"))]);
    add(&["resume", &id(1), "--print"], vec![("PATH", net(7).join("bin"))]);
    all
}

/// Runs commands over mounts in the state `left`, and compares the time with that without them: every command, or every
/// second one.
fn nothing_waits(left: Left) {
    let (world, points) = world();
    let timed = |args: &[String], variables: &[(&'static str, PathBuf)]| {
        let call = world.from(world.dir("elsewhere"));
        let call = variables.iter().fold(call, |call, (name, value)| call.with(name, value));
        let started = Instant::now();
        let answer = call.rejoin(args);
        (started.elapsed(), answer)
    };
    let half = usize::from(left == Left::Root);
    let commands: Vec<_> = commands(&world).into_iter().skip(half.min(stride(2) - 1)).step_by(stride(2)).collect();
    let before: Vec<Duration> = commands.iter().map(|(args, variables)| timed(args, variables).0).collect();
    let Some(_mounts) = mounted(&points, left) else { return };
    let mut late = Vec::new();
    for ((args, variables), before) in commands.iter().zip(before) {
        let (took, answer) = timed(args, variables);
        assert_ne!(answer.exit(), Some(2), "{args:?}: {}", answer.stderr());
        if took > before + LONGER {
            late.push(format!("{args:?} {variables:?} took {took:?}, and {before:?} without\n{}", answer.stderr()));
        }
    }
    assert!(late.is_empty(), "{}", late.join("\n"));
}

#[test]
fn no_command_waits_for_dead_mounts() {
    nothing_waits(Left::Nothing);
}

#[test]
fn no_command_waits_for_mounts_with_live_root() {
    nothing_waits(Left::Root);
}

/// Runs each command alone, because a mount that another command has accessed answers or fails at once.
#[test]
fn saving_does_not_wait_for_a_dead_mount() {
    for words in [
        "save session-info --session-dir DIR --working-dir DIR",
        "save transcript --session-dir DIR",
        "save leo --app-dir DIR --session-id 5d1f6c1e-3a50-4a57-8a5e-0123456789ab --working-dir DIR",
        "hook claude",
        "hook amplifier",
    ] {
        let (world, points) = world();
        let Some(_mounts) = mounted(&points, Left::Nothing) else { return };
        let dir = world.root().join("net/8/app");
        let words: Vec<String> = words.split(' ').map(|word| word.replace("DIR", &dir.to_string_lossy())).collect();
        let event = json!({
            "hook_event_name": "PostToolUse", "session_id": id(1), "cwd": dir, "tool_name": "Bash", "tool_input": {},
            "event": "tool:post", "data": {"session_dir": dir, "messages": [{"role": "user", "content": "x"}]},
        });
        let input = format!("{event}\n");
        let started = Instant::now();
        let call = world.from(world.dir("elsewhere")).with("CLAUDE_PROJECT_DIR", &dir);
        let answer = call.fed(&words, &input);
        let took = started.elapsed();
        assert!(took < LONGER, "{words:?} took {took:?}: {}", answer.stderr());
    }
}

#[test]
fn directory_on_dead_mount_is_unknown_not_missing() {
    let (world, points) = world();
    let Some(_mounts) = mounted(&points, Left::Nothing) else { return };
    let answer = world.rejoin(["list", "--all", "--json"]).code(0);
    let warnings = answer.stderr();
    for point in &points {
        let begins = format!("warning: {} ", point.display());
        let about: Vec<&str> = warnings.lines().filter(|line| line.starts_with(&begins)).collect();
        let [only] = about.as_slice() else { panic!("{about:?} {warnings}") };
        assert!(
            only.ends_with("does not answer; whether the directory of 1 session is still there is not known"),
            "{only}"
        );
    }
    // Unread directories are named once, regardless of the number of paths to them.
    let unread = [
        ".claude/projects/-net",
        &format!(".claude/projects/-usr-bin/{}.jsonl", id(3)),
        ".codex",
        ".gemini",
        ".local/share/opencode/opencode.db",
        ".copilot/session-state",
    ];
    for (name, point) in unread.iter().zip(&points) {
        let ending = format!("{name}: {} does not answer", point.display());
        assert_eq!(warnings.lines().filter(|line| line.ends_with(&ending)).count(), 1, "{ending}\n{warnings}");
    }
    assert_eq!(warnings.lines().filter(|line| line.contains("/-back: ")).count(), 1, "{warnings}");
    assert!(!world.on_terminal(160, ["agents"]).stdout().contains("codex (~/.codex)"), "what is there is not known");
    assert_eq!(answer.sessions().len(), 12);
    for session in answer.sessions() {
        let exists = session.launch_dir.as_ref().expect("a directory").exists;
        let expected = if session.id == id(1) { Some(true) } else { Some(false).filter(|_| session.id == id(2)) };
        assert_eq!(exists, expected, "{}", session.id);
        assert_eq!(session.health.contains(&"missing-directory".to_owned()), exists == Some(false), "{}", session.id);
    }
    let report: DoctorReport = world.rejoin(["doctor", "--all-findings", "--json"]).json();
    for finding in report.findings.iter().filter(|finding| finding.code == "missing-directory") {
        assert!(finding.evidence.contains("/gone"), "{}", finding.evidence);
    }
    let detected = world.rejoin(["move", "--detect"]).code(0).stdout();
    assert!(!detected.contains("/net/") && !detected.contains("/link"), "{detected}");
    let shown = world.rejoin(["show", &id(11)]).code(0).stdout();
    assert!(shown.contains("not known to exist"), "{shown}");
    let error = world.rejoin(["resume", &id(10), "--print"]).code(7).stderr();
    assert!(error.contains("does not answer") && !error.contains("mkdir"), "{error}");
}

#[test]
fn picker_works_with_dead_mounts() {
    let (world, points) = world();
    let Some(_mounts) = mounted(&points, Left::Nothing) else { return };
    let started = Instant::now();
    let mut seat = shell(&world, "resume");
    seat.shows("12 of 12 sessions");
    seat.types("question 4");
    seat.shows("1 of 12 sessions");
    seat.types("\x03");
    let (status, rest) = seat.ends();
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert_eq!(status, Some(130), "{rest}");
}
