//! The examples of README.md, CONTRIBUTING.md, SECURITY.md and docs/: each is run, so a page shows the real output.
//!
//! * ` ```console `: text after `$ ` is typed at a terminal of 100 columns, the other lines are the output;
//! * ` ```sh ` and ` ```bash `: a script that succeeds;
//! * ` ```json ` below a line that is a command in backticks: the answer of the command, with line breaks added.
//!
//! Each block has a separate copy of the sample home, shown as `/home/ana`, and begins there; its files are new, as in a fresh clone. A comment above a block
//! sets its special properties, as in `<!-- exit 6; goes on -->`: see [`Note`]. `SNAPSHOTS=overwrite` rewrites them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;

use crate::fixtures::claude_slug;
use crate::generated::{is_overwriting, replace_in_page};
use crate::sample_home::{NOW, fresh_clone};
use crate::world::World;

/// The placeholder for every fingerprint of a plan, which depends on the path of the home.
const FINGERPRINT: &str = "d9f0df13c525";

/// An example with its line.
struct Block {
    line: usize,
    language: String,
    note: Note,
    /// The command above a block of JSON.
    command: Option<String>,
    text: String,
}

/// The properties in the comment above a block.
#[derive(Default)]
struct Note {
    /// The exit codes other than 0, in order.
    exits: Vec<i32>,
    /// Set to keep the home of the previous block.
    goes_on: bool,
    /// Set to run the block in the checkout instead of the home.
    from_a_clone: bool,
    /// The reason why the block is not run.
    not_run: Option<String>,
}

impl Note {
    fn parse(comment: &str) -> Self {
        let mut note = Self::default();
        for part in comment.split(';').map(str::trim) {
            if let Some(codes) = part.strip_prefix("exit ") {
                note.exits = codes.split(',').map(|code| code.trim().parse().expect("an exit code")).collect();
            } else if let Some(why) = part.strip_prefix("not run: ") {
                note.not_run = Some(why.to_owned());
            } else {
                match part {
                    "goes on" => note.goes_on = true,
                    "from a clone" => note.from_a_clone = true,
                    other => panic!("a comment above a block says {other:?}"),
                }
            }
        }
        note
    }
}

/// Returns the pages with examples, relative to the root.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = walkdir::WalkDir::new(root.join("docs")).sort_by_file_name();
    let docs = docs.into_iter().map(|entry| entry.expect("an entry").into_path());
    let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| root.join(page));
    pages
        .into_iter()
        .chain(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")))
        .map(|path| path.strip_prefix(root).expect("a path below").to_owned())
        .collect()
}

/// Finds the blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    // The last two lines that are not empty: a comment and a command may be above a block.
    let mut above = ["", ""];
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = body.fold(String::new(), |text, line| text + line + "\n");
            let comment = above.iter().find_map(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->"));
            let comment = comment.filter(|comment| !comment.starts_with("made by tests"));
            let command = above.iter().find_map(|line| line.strip_prefix("`rejoin ")?.strip_suffix('`'));
            blocks.push(Block {
                line: number + 1,
                language: language.to_owned(),
                note: comment.map(Note::parse).unwrap_or_default(),
                command: command.filter(|command| !command.contains('`')).map(|command| format!("rejoin {command}")),
                text,
            });
            above = ["", ""];
        } else if !line.is_empty() {
            above = [above[1], line];
        }
    }
    blocks
}

/// A world in which blocks are run one after the other.
struct Run {
    world: World,
    fingerprint: String,
    exits: Vec<i32>,
}

impl Run {
    fn new() -> Self {
        Self { world: fresh_clone(), fingerprint: String::new(), exits: Vec::new() }
    }

    /// Prepares the world for a block, which starts in the home.
    fn begin(&mut self) {
        self.exits.clear();
        drop(std::fs::remove_file(self.world.root().join("place")));
    }

    /// Types a command line and returns the output of the terminal.
    fn types(&mut self, block: &Block, shell: &str, line: &str) -> String {
        let home = self.world.home();
        let dir = if block.note.from_a_clone { Path::new(env!("CARGO_MANIFEST_DIR")) } else { &home };
        // The next command starts in the directory in which this one ended.
        let place = self.world.root().join("place");
        let start = std::fs::read_to_string(&place).unwrap_or_default();
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        let line = line.replace(FINGERPRINT, &self.fingerprint).replace("/home/ana", &text(&home));
        let line = format!("{line}\npwd > '{}'", place.display());
        let dir = if start.is_empty() { dir } else { Path::new(start.trim_end()) };
        let call = self.world.from(dir).with("REJOIN_NOW", NOW).with("TERM", "dumb");
        let answer = call.types(shell, &line, 100);
        self.exits.extend(answer.exit().filter(|code| *code != 0));
        // A progress line was shown briefly and erased.
        let lines = answer.stdout();
        let lines = lines.lines().map(|line| line.rsplit("\x1b[K").next().unwrap_or_default());
        let mut shown = lines.fold(String::new(), |shown, line| shown + line.trim_end() + "\n");
        let applied = shown.split_once("--apply ").and_then(|(_, rest)| rest.get(..FINGERPRINT.len()));
        // The plan of a file has a name instead of a fingerprint.
        if let Some(fingerprint) = applied.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            self.fingerprint = fingerprint.to_owned();
            shown = shown.replace(&self.fingerprint, FINGERPRINT);
        }
        shown
            .replace(&text(&home), "/home/ana")
            .replace(&claude_slug(&home), "-home-ana")
            .replace(&text(&self.world.root().join("bin")), "/usr/bin")
    }

    /// Runs a block, and returns the block with its actual output, or the failure.
    fn block(&mut self, block: &Block) -> Result<String, String> {
        let text = match block.language.as_str() {
            "console" => self.session(block),
            "json" => {
                let command = block.command.as_ref().expect("a command");
                format!("{}\n", pretty(self.types(block, "/bin/sh", command).trim_end()))
            }
            shell => {
                let shown = self.types(block, &format!("/bin/{shell}"), &block.text);
                if self.exits != block.note.exits {
                    return Err(shown);
                }
                block.text.clone()
            }
        };
        if self.exits != block.note.exits {
            return Err(format!("the exit codes are {:?} and not {:?}\n{text}", self.exits, block.note.exits));
        }
        Ok(text)
    }

    /// Types the commands of a block and returns them with their output.
    fn session(&mut self, block: &Block) -> String {
        let mut text = String::new();
        let mut lines = block.text.lines();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                let _ = write!(command, "\n{}", lines.next().expect("the rest of a command"));
            }
            let shown = self.types(block, "/bin/sh", &command);
            // The output ends at an empty line.
            if !text.is_empty() && !text.lines().next_back().is_some_and(|last| last.starts_with("$ ")) {
                text.push('\n');
            }
            let _ = writeln!(text, "$ {command}");
            if !shown.trim().is_empty() {
                text.push_str(shown.trim_end());
                text.push('\n');
            }
        }
        text
    }
}

/// JSON whose members keep their order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Object(IndexMap<String, Json>),
    List(Vec<Json>),
    Plain(serde_json::Value),
}

impl Json {
    /// Writes JSON with line breaks if it does not fit on a line, which already has `before` columns. A list of plain
    /// values stays on one line.
    fn lines(&self, depth: usize, before: usize) -> String {
        /// The maximum width of a line.
        const WIDTH: usize = 124;
        let line = self.line();
        let is_plain = |item: &Self| matches!(item, Self::Plain(_));
        if before + line.len() <= WIDTH || matches!(self, Self::List(items) if items.iter().all(is_plain)) {
            return line;
        }
        let (start, end) = (format!("\n{:1$}", "", 2 * depth + 2), format!("\n{:1$}", "", 2 * depth));
        let before = 2 * depth + 3;
        match self {
            Self::Plain(_) => line,
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.lines(depth + 1, before)).collect();
                format!("[{start}{}{end}]", items.join(&format!(",{start}")))
            }
            Self::Object(members) => {
                let member = |(key, value): (&String, &Self)| {
                    let key = format!("{}: ", serde_json::json!(key));
                    let value = value.lines(depth + 1, before + key.len());
                    key + &value
                };
                // Short members share a line.
                let mut packed: Vec<String> = Vec::new();
                for member in members.iter().map(member) {
                    let fits = |line: &&mut String| {
                        !line.contains('\n') && !member.contains('\n') && before + line.len() + member.len() < WIDTH
                    };
                    match packed.last_mut().filter(fits) {
                        Some(line) => line.push_str(&format!(", {member}")),
                        None => packed.push(member),
                    }
                }
                format!("{{{start}{}{end}}}", packed.join(&format!(",{start}")))
            }
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Plain(value) => value.to_string(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::line).collect::<Vec<_>>().join(", ")),
            Self::Object(members) if members.is_empty() => "{}".to_owned(),
            Self::Object(members) => {
                let member = |(key, value): (&String, &Self)| format!("{}: {}", serde_json::json!(key), value.line());
                format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Adds line breaks to JSON.
fn pretty(json: &str) -> String {
    serde_json::from_str::<Json>(json).map_or_else(|_| json.to_owned(), |json| json.lines(0, 0))
}

/// Returns a text without the parts that depend on the machine and the directory of the test: sizes of manifests in the
/// archive, and fingerprints of plans.
fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let is_number = |word: &&str| word.trim_matches(['(', ',']).parse::<f64>().is_ok();
        if line.contains("stored_bytes\": ") {
            line.split_whitespace().filter(|word| !is_number(word)).collect()
        } else if let Some((start, _)) = line.split_once("\"fingerprint\": \"") {
            format!("{start}{FINGERPRINT}")
        } else if line.contains("rejoin/archive") || line.contains(" new with its manifest)") {
            let words: Vec<_> = line.split(' ').collect();
            let is_size =
                |at: usize| words.get(at + 1).is_some_and(|unit| unit.trim_matches([',', ';', ')']).ends_with('B'));
            (0..words.len()).filter(|&at| !is_size(at)).map(|at| words[at]).collect::<Vec<_>>().join(" ")
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a program that a block needs and that this machine does not have.
fn missing_program(block: &Block) -> Option<&'static str> {
    let is_missing = |program: &&str| {
        let mut words = block.text.split(|character: char| !character.is_ascii_alphanumeric() && character != '-');
        words.any(|word| word == *program) && !Path::new("/usr/bin").join(program).exists()
    };
    ["jq", "zstd"].into_iter().find(is_missing)
}

/// Runs the blocks of a page and returns the faults, and the blocks that were not run.
#[expect(clippy::disallowed_macros, reason = "a test says what it leaves out")]
fn check(page: &Path) -> (Vec<String>, Vec<String>) {
    let name = page.to_str().expect("a name in UTF-8");
    let whole = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page");
    let (mut faults, mut not_run) = (Vec::new(), Vec::new());
    let mut run = Run::new();
    let mut is_fresh = true;
    for block in blocks(&whole) {
        let place = format!("{name}:{}", block.line);
        match block.language.as_str() {
            "console" | "sh" | "bash" => {}
            "json" if block.command.is_some() => {}
            "" => faults.push(format!("{place}: a block without a language")),
            _ if block.text.lines().any(|line| line.starts_with("$ ")) => {
                faults.push(format!("{place}: commands that are not run"));
            }
            _ => continue,
        }
        if let Some(why) = block.note.not_run {
            not_run.push(format!("{name}: {}: {why}", block.text.lines().next().unwrap_or_default()));
            continue;
        }
        if let Some(program) = missing_program(&block) {
            println!("skipped {place}: there is no {program}");
            continue;
        }
        if !block.note.goes_on && !std::mem::take(&mut is_fresh) {
            run = Run::new();
        }
        is_fresh = false;
        run.begin();
        match run.block(&block) {
            Err(shown) => faults.push(format!("{place}: it fails:\n{}{shown}", block.text)),
            Ok(text) if steady(&text) == steady(&block.text) => {}
            Ok(text) if is_overwriting() => replace_in_page(name, &block.text, &text),
            Ok(text) => faults.push(format!("{place} shows\n{}and not\n{text}", block.text)),
        }
    }
    (faults, not_run)
}

#[test]
#[expect(clippy::disallowed_macros, reason = "a test says what it leaves out")]
fn every_example_of_documentation_has_real_output() {
    let pages = pages();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|page| scope.spawn(|| check(page))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a page that can be read")).collect()
    });
    let (faults, not_run): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let (faults, not_run) = (faults.concat(), not_run.concat());
    println!("{} blocks are not run:\n{}", not_run.len(), not_run.join("\n"));
    assert!(
        faults.is_empty(),
        "{}\n{} examples are stale: run SNAPSHOTS=overwrite cargo test --test it examples, and read the diff",
        faults.join("\n"),
        faults.len()
    );
    snapbox::assert_data_eq!(
        not_run.join("\n"),
        snapbox::str![[r#"
README.md: $ cargo install --locked --path .: it compiles and installs
README.md: cargo run -- --home examples/home list: .ci/run does
CONTRIBUTING.md: cargo build: they build and test for minutes
CONTRIBUTING.md: cargo bench --bench list -- --quick: it takes a minute
CONTRIBUTING.md: e2e/run --install           # installs what is missing below ~/.cache/rejoin-e2e, or $REJOIN_E2E_DIR, then tries all: it takes minutes, and --install downloads
CONTRIBUTING.md: SNAPSHOTS=overwrite cargo test --test it: it rewrites the snapshots
CONTRIBUTING.md: .ci/generate                # writes them: it builds
docs/adding-a-command.md: .ci/generate: it builds
docs/adding-an-agent.md: cp -r examples/adding-an-agent/otter src/agent/otter: tests/it/agents.rs runs it in a copy, with REJOIN_FULL=1
docs/hosts.md: rejoin list --host laptop --host ana@build1    # one table, newest first, with a column HOST: it takes hosts
docs/hosts.md: for host in laptop build1; do rejoin archive --host "$host" --every --archive-dir /mnt/team/archive; done: it takes hosts
docs/hosts.md: cd contrib/fleet/duckdb: it takes files of a fleet, and a server
docs/installing.md: cargo install --locked --path .: it compiles and installs
docs/installing.md: mkdir -p ~/.cargo/share/man/man1: writes into the home of the reader
docs/platforms.md: .ci/release                                    # everything, into target/dist: it builds for half an hour
docs/two-machines.md: rsync -a --update ~/Sync/rejoin/ desktop:Sync/rejoin/ && rsync -a --update desktop:Sync/rejoin/ ~/Sync/rejoin/ && rejoin sync: it needs another machine
"#]]
    );
}

#[test]
fn pretty_printer_wraps_long_json() {
    let long = "x".repeat(90);
    let json =
        format!(r#"{{"a":["x, [","y"],"b":[],"c":[{{"d":null,"e":{{}}}},{{"f":"{long}","g":"{long}"}}],"h\"":-1}}"#);
    let expected = format!(
        r#"{{
  "a": ["x, [", "y"], "b": [],
  "c": [
    {{ "d": null, "e": {{}} }},
    {{
      "f": "{long}",
      "g": "{long}"
    }}
  ],
  "h\"": -1
}}"#
    );
    assert_eq!(pretty(&json), expected);
}

#[test]
fn every_link_of_the_documentation_has_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |page: &Path| std::fs::read_to_string(root.join(page)).expect("a page");
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        for (at, _) in text.match_indices("](") {
            let Some((link, _)) = text[at + 2..].split_once(')') else { continue };
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            let leads = path.starts_with("https://")
                || root.join(&target).exists() && (anchor.is_empty() || anchors(&read(&target)).any(|it| it == anchor));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Returns the anchors of a page's headings.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).filter_map(|line| line.split_once(' '));
    headings.map(|(_, heading)| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|character| character.is_alphanumeric() || *character == '-').collect()
    })
}
