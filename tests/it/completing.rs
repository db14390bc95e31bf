//! Completion in the real bash, zsh and fish at a terminal, with the completion key.
#![expect(clippy::disallowed_macros, reason = "whoever runs the tests should know which shell is not here")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::contract::changes::RunList;
use crate::fixtures::{Claude, Codex, Gptme, id, put};
use crate::generated::assert_file;
use crate::terminal::Seat;
use crate::world::{World, stride};

/// Creates a home with each kind of name: two sessions, one of them pinned, and one more in the archive and the trash.
fn world() -> (World, String) {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("alpha", "y"));
    world.add(Codex::session(id(2)).in_dir("/usr").turn("beta", "y"));
    world.add(Claude::session(id(3)).in_dir("/usr").turn("gamma", "y"));
    world.rejoin(["pin", &id(1)]).code(0);
    world.rejoin(["archive", &id(3)]).code(0);
    world.rejoin(["delete", &id(3), "--yes"]).code(0);
    put(&world.home().join(".config/rejoin/config.toml"), "[hosts]\nlab = [\"one\", \"two\"]\n");
    symlink(env!("CARGO_BIN_EXE_rejoin"), world.root().join("bin/rejoin")).expect("the program on the path");
    let runs: RunList = world.rejoin(["undo", "--list", "--json"]).code(0).json();
    let run = runs.runs[0].run.clone();
    (world, run)
}

/// Returns typed lines, each with the line after the completion key.
fn lines(run: &str) -> Vec<(&'static str, String)> {
    vec![
        ("rejoin show cod", "rejoin show codex:".to_owned()),
        ("rejoin show codex:", format!("rejoin show codex:{}", id(2))),
        ("rejoin show codex:0000", format!("rejoin show codex:{}", id(2))),
        ("rejoin show 00000002", format!("rejoin show {}", id(2))),
        ("rejoin restore 0", format!("rejoin restore {}", id(3))),
        ("rejoin restore claude:", format!("rejoin restore claude:{}", id(3))),
        ("rejoin show --archived 0", format!("rejoin show --archived {}", id(3))),
        ("rejoin pin --remove 0", format!("rejoin pin --remove {}", id(1))),
        ("rejoin undo 2", format!("rejoin undo {run}")),
        ("rejoin undo x 0", format!("rejoin undo x {}", id(3))),
        ("rejoin undo --purge 2", format!("rejoin undo --purge {run}")),
        ("rejoin help exit", "rejoin help exit-codes".to_owned()),
        ("rejoin help filt", "rejoin help filters".to_owned()),
        ("rejoin show alp", "rejoin show alpha".to_owned()),
        ("rejoin resume BE", "rejoin resume BEta".to_owned()),
        ("rejoin restore gam", "rejoin restore gamma".to_owned()),
        ("rejoin show --tra", "rejoin show --transcript".to_owned()),
        ("rejoin list --since yest", "rejoin list --since yesterday".to_owned()),
        ("rejoin list --is pin", "rejoin list --is pinned".to_owned()),
        ("rejoin list --fields agent,ti", "rejoin list --fields agent,title".to_owned()),
        ("rejoin list --agent=cod", "rejoin list --agent=codex".to_owned()),
        ("rejoin list --host la", "rejoin list --host lab".to_owned()),
        ("rejoin list --agent cod", "rejoin list --agent codex".to_owned()),
    ]
}

fn drive(shell: &str, options: &[&str], setup: &str) {
    let path = Path::new("/usr/bin").join(shell);
    if !path.exists() {
        println!("skipped: there is no {shell} here");
        return;
    }
    let (world, run) = world();
    let mut command = world.with("PS1", "> ").command(path);
    command.args(options);
    let begin = || {
        let mut seat = Seat::run(&command, 120, 50);
        seat.types(&format!("{setup}; echo it is re''ady\n"));
        // Keys that arrive before the prompt cannot be edited as a line.
        // Fish ends the prompt of root with another sign.
        seat.shows_what(|screen| screen.split_once("it is ready").is_some_and(|(_, rest)| rest.contains(['>', '#'])));
        seat
    };
    let mut seat = begin();
    for (typed, expected) in lines(&run) {
        seat.types(&format!("{typed}\t"));
        let is_there = |screen: &str| screen.lines().any(|line| line.trim_end().ends_with(&expected));
        let screen = seat.shows_what(is_there).screen().contents();
        let line = screen.lines().rev().find(|line| line.contains(typed)).unwrap_or_default();
        assert!(!line.contains(":--"), "{shell}: {line}");
        // Removes the line before the next one is typed.
        seat.types("\x15");
        seat.shows_what(|screen| !is_there(screen));
    }
    // Bash lists the candidates at the second key press. An empty word gets values but no options.
    for (typed, values) in [
        ("rejoin show 0000000", ["claude alpha", "codex beta"]),
        ("rejoin show ", ["claude alpha", "codex beta"]),
        ("rejoin list --since ", ["yesterday", "30d"]),
        ("rejoin ", ["search", "rewind"]),
    ] {
        let mut seat = begin();
        seat.types(typed);
        seat.shows_what(|screen| screen.lines().any(|line| line.trim_end().ends_with(typed.trim_end())));
        let is_listed = |screen: &str| values.iter().all(|value| screen.contains(value));
        let mut screen = String::new();
        for _ in 0..5 {
            seat.types("\t");
            while !is_listed(&screen) && seat.is_sent_more_within(Duration::from_secs(2)) {
                screen = seat.shows_what(|_| true).screen().contents();
            }
        }
        assert!(is_listed(&screen), "{shell}: {typed}\n{screen}");
        // The line that sets up completion, and the typed line, may contain options.
        let listed = screen.split_once("it is ready").map_or("", |(_, listed)| listed);
        // zsh puts `--` before a description.
        let is_option = |word: &str| word.strip_prefix("--").is_some_and(|name| !name.is_empty());
        let listed = listed.replace(typed.trim_end(), "");
        assert!(!listed.split_whitespace().any(is_option), "{shell}: {typed}\n{screen}");
    }
}

#[test]
fn bash_completes_existing_names() {
    drive("bash", &["--norc", "--noprofile", "-i"], "source <(COMPLETE=bash rejoin)");
}

#[test]
fn zsh_completes_existing_names() {
    drive("zsh", &["-f", "-i"], "PROMPT='> '; autoload -U compinit; compinit -D; source <(COMPLETE=zsh rejoin)");
}

#[test]
fn fish_completes_existing_names() {
    drive("fish", &["--no-config", "-i"], "COMPLETE=fish rejoin | source");
}

#[test]
fn completions_explains_installation_for_each_shell() {
    let world = World::new();
    let help = world.rejoin(["completions", "-h"]).code(0).stdout();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(help.contains(&format!("rejoin completions {shell}")), "{shell}: {help}");
        let script = world.rejoin(["completions", shell]).code(0).stderr_eq("").stdout();
        assert!(script.contains(&format!("COMPLETE=\"{shell}\"")) || script.contains(shell), "{script}");
    }
    assert!(world.rejoin(["help", "all"]).code(0).stdout().contains("\n  completions "));
    assert!(world.rejoin(["completions", "tcsh"]).code(2).stderr().contains("bash, fish, powershell, zsh"));
}

#[test]
fn completion_scripts_are_fresh() {
    for (shell, file) in
        [("bash", "rejoin.bash"), ("fish", "rejoin.fish"), ("powershell", "_rejoin.ps1"), ("zsh", "_rejoin")]
    {
        let script = World::new().rejoin(["completions", shell]).code(0).stdout();
        assert_file(&format!("completions/{file}"), &script);
    }
}

#[test]
fn completion_uses_the_home_of_the_command_line() {
    let (world, _) = world();
    let other = World::new();
    other.add(Claude::session(id(7)).in_dir("/usr").turn("delta", "y"));
    let home = other.home();
    let words = ["--", "rejoin", "--home", home.to_str().expect("a path"), "show", "0"];
    let named = format!("{}\t  (claude delta)", id(7));
    assert_eq!(world.with("COMPLETE", "bash").rejoin(words).code(0).stdout(), named);
    let home = format!("--home={}", home.display());
    let ask = world.with("COMPLETE", "bash");
    assert_eq!(ask.rejoin(["--", "rejoin", &home, "show", "0"]).code(0).stdout(), named);
}

#[test]
fn completion_in_empty_home_is_silent() {
    let world = World::new();
    for verb in ["show", "restore", "pin", "undo"] {
        let call = world.with("COMPLETE", "bash");
        call.rejoin(["--", "rejoin", verb, "0"]).code(0).stdout_eq("").stderr_eq("");
    }
}

/// Text with a special meaning in a shell, at some place of a word.
const HOSTILE: [&str; 25] = [
    "$(touch PWN)",
    "`touch PWN`",
    "';touch PWN;'",
    "\"$(touch PWN)\"",
    ";touch PWN;",
    "|touch PWN",
    "&touch PWN&",
    "\ntouch PWN\n",
    "\r",
    "\t",
    " ",
    "'",
    "\"",
    "\\",
    "$HOME",
    "${IFS}",
    "!!",
    "*",
    "?[a]",
    "{a,b}",
    "~",
    "#",
    "<PWN",
    ">PWN",
    "(touch PWN)",
];

/// Returns 750 names: every pair of these pieces in some order. 500 of them are valid ids.
fn hostile_names() -> Vec<String> {
    let pieces = |at: usize| match at % 25 {
        0 => (String::new(), "plain.name-1"),
        _ => (HOSTILE[at * 7 % 25].to_owned(), HOSTILE[(at / 25 + at) % 25]),
    };
    (0..750).map(|at| format!("evil{at:03}x{}b{}y", pieces(at).0, pieces(at).1)).collect()
}

/// Completes hostile names in a shell within each kind of quotes, and runs the lines: a sample, or all with
/// `REJOIN_COMPLETIONS=all`.
fn complete_hostile_names(shell: &str, options: &[&str], setup: &str) {
    let path = Path::new("/usr/bin").join(shell);
    if !path.exists() {
        println!("skipped: there is no {shell} here");
        return;
    }
    let names = hostile_names();
    let step = if std::env::var_os("REJOIN_COMPLETIONS").is_some() { 1 } else { 36 * stride(5) };
    let world = World::new();
    for name in &names {
        world.add(Gptme::session(name.as_str()).in_dir("/usr").turn("a", "b"));
        std::fs::create_dir_all(world.dir("elsewhere").join(name)).expect("a directory");
    }
    symlink(env!("CARGO_BIN_EXE_rejoin"), world.root().join("bin/rejoin")).expect("the program on the path");
    let mut command = world.with("PS1", "> ").command(path);
    command.args(options);
    let listed = world.rejoin(["list", "--limit", "0", "--fields", "id"]).code(0).stdout();
    assert!(listed.lines().count() >= 500, "{}", listed.lines().count());
    let chosen: Vec<(usize, &String)> = names.iter().enumerate().step_by(step).collect();
    // Each check reads all output of a terminal again, so each terminal gets only a few names.
    for names in chosen.chunks(20) {
        let mut seat = Seat::run(&command, 120, 50);
        seat.types(&format!("cd {}; {setup}; echo it is re''ady\n", world.dir("elsewhere").display()));
        seat.shows("it is ready");
        for (at, name) in names {
            // A name that is offered is completed with its closing quote.
            let is_plain = name.ends_with("plain.name-1y");
            let states: &[&str] = if is_plain { &["", "gptme:"] } else { &["", "'", "\"", "gptme:"] };
            for (state, open) in states.iter().enumerate() {
                let close = open.trim_start_matches("gptme:");
                let typed =
                    format!("rejoin show --path {open}evil{at:03}x\t{close} >/dev/null && echo na''med {at}.{state}");
                seat.types(&format!("{typed}; echo do''ne {at}.{state}\n"));
                let screen = seat.shows(&format!("done {at}.{state}"));
                let is_named = screen.contains(&format!("named {at}.{state}"));
                // gptme's ids have neither control characters nor backslashes.
                let is_listed = listed.contains(&format!("evil{at:03}x"));
                assert!(is_named || !is_listed, "{shell}: {name:?} after {open:?}\n{screen}");
            }
            seat.types(&format!("rejoin list --dir evil{at:03}x\t; echo do''ne {at}.d\n"));
            seat.shows(&format!("done {at}.d"));
        }
    }
    for dir in [world.dir("elsewhere"), world.home(), world.root().to_owned()] {
        assert!(!dir.join("PWN").exists(), "{shell}: {}", dir.display());
    }
}

#[test]
fn bash_gets_no_executable_name() {
    complete_hostile_names("bash", &["--norc", "--noprofile", "-i"], "source <(COMPLETE=bash rejoin)");
}

#[test]
fn zsh_gets_no_executable_name() {
    complete_hostile_names(
        "zsh",
        &["-f", "-i"],
        "PROMPT='> '; autoload -U compinit; compinit -D; source <(COMPLETE=zsh rejoin)",
    );
}

#[test]
fn fish_gets_no_executable_name() {
    complete_hostile_names("fish", &["--no-config", "-i"], "COMPLETE=fish rejoin | source");
}
