//! `export` and `path`: a session for other programs, and for users without rejoin.
#![expect(clippy::disallowed_macros, reason = "a test says what it left out")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::json;

use crate::archive::wipe;
use crate::contract::AgentList;
use crate::fixtures::{Amplifier, Claude, Codex, id};
use crate::world::{World, is_tried};

const APP: &str = "/usr/bin";

fn written(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file that was written")
}

/// Returns a session in which a model calls a tool and writes Markdown, with a sub-agent.
fn session() -> Claude {
    Claude::session(id(1))
        .in_dir(APP)
        .title("Sort the stones")
        .prompt("sort **these**\n\tby size")
        .reply_block("m1", &json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls <stones>"}}))
        .message(
            "user",
            &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "big\nsmall"}]}),
            &json!({}),
        )
        .reply("Done:\n\n```rust\nlet n = 2; // two\n```\n\nSee [there](https://a.example) *now*.")
        .subagent("agent-a1", "weigh each", "all weighed")
}

#[test]
fn markdown_reply_does_not_affect_next_message() {
    let world = World::new();
    world.add(
        Claude::session(id(1))
            .in_dir(APP)
            .prompt("one")
            .reply("\\![x](data:text/html,y)\n\n[x]: javascript:alert(1)\n\n```html\n<b>cut off")
            .prompt("two")
            .reply("[x]\n\n<!--\n\n# User")
            .prompt("three")
            .reply("--> <script>alert(1)</script> [x](javascript:y)"),
    );
    let page = world.rejoin(["export", &id(1)]).code(0).stdout();
    let replies: Vec<&str> = page
        .split("## Assistant")
        .skip(1)
        .map(|part| part.split_once("\n## User").map_or(part, |(part, _)| part))
        .collect();
    let replies: Vec<&str> =
        replies.iter().map(|reply| reply.split_once("\n\n").expect("a reply").1.trim_end()).collect();
    assert_eq!(
        replies,
        [
            "!x (data:text/html,y)\n\n```html\n<b>cut off\n```",
            "\\[x\\]\n\n&lt;!--\n\n\\# User",
            "\\--> &lt;script>alert(1)&lt;/script> x (javascript:y)",
        ]
    );
}

#[test]
fn markdown_is_the_default_format() {
    let world = World::new();
    world.add(session());
    let answer = world.rejoin(["export", &id(1)]).code(0).stderr_eq("");
    assert_eq!(world.rejoin(["export", &id(1), "-o", "-"]).code(0).stdout(), answer.stdout());
    assert_eq!(
        answer.stdout(),
        "\
# Sort the stones

- Agent: claude
- Session: 00000001-aaaa-4aaa-8aaa-000000000001
- Directory: /usr/bin
- Branch: main
- Model: model-a
- Started: 2026-02-01 10:01:00
- Last active: 2026-02-01 10:04:00

- Sub-agent 1: weigh each

## User · 2026-02-01 10:01:00

sort \\*\\*these\\*\\*\\
&nbsp;&nbsp;&nbsp;&nbsp;by size

<details><summary>Bash {\"command\":\"ls &lt;stones>\"}</summary>

```text
Bash {\"command\":\"ls <stones>\"}
→ big
small
```

</details>

## Assistant · 2026-02-01 10:04:00

Done:

```rust
let n = 2; // two
```

See [there](https://a.example) *now*.

---

# Sub-agent 1: weigh each

- Agent: claude
- Session: agent-a1
- Directory: /usr/bin
- Branch: main
- Model: model-b
- Started: 2026-02-01 10:00:00
- Last active: 2026-02-01 10:01:00

## User · 2026-02-01 10:00:00

weigh each

## Assistant · 2026-02-01 10:01:00

all weighed

"
    );
}

#[test]
fn html_page_loads_nothing_and_folds_tool_calls() {
    let world = World::new();
    world.add(session());
    let page = world.rejoin(["export", &id(1), "--format", "html"]).code(0).stderr_eq("").stdout();
    for part in [
        "<title>Sort the stones</title>",
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"",
        "<pre class=said>sort **these**\n\tby size</pre>",
        "<details class=tool><summary>Bash {&quot;command&quot;:&quot;ls &lt;stones&gt;&quot;}</summary><pre>",
        "→ big\nsmall</pre></details>",
        "<pre><code>let n = 2; // two",
        "<a rel=\"noopener noreferrer\" href=\"https://a.example\">there</a> <em>now</em>",
        "<a href=\"#sub-agent-1\">weigh each</a>",
        "<section class=sub-agent id=sub-agent-1><h2>Sub-agent: weigh each</h2>",
        "all weighed",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    // The page loads nothing.
    assert!(!page.contains(" src=") && !page.contains("<link") && !page.contains("@import") && !page.contains("url("));
}

#[test]
fn file_name_selects_format_without_overwriting() {
    let world = World::new();
    world.add(session());
    let dir = world.dir("out");
    for (name, start) in [("a.md", "# Sort"), ("a.html", "<!doctype html>"), ("a.json", "{\"format_version\"")] {
        let path = dir.join(name);
        let out = path.to_str().expect("a path");
        let stderr = world.rejoin(["export", &id(1), "-o", out]).code(0).stdout_eq("").stderr();
        assert_eq!(stderr, format!("Exported 1 session to {out}.\n"));
        assert!(written(&path).starts_with(start), "{name}: {}", written(&path));
        std::fs::write(&path, "mine").expect("a file");
        let refused = world.rejoin(["export", &id(1), "-o", out]).code(1).stdout_eq("").stderr();
        assert_eq!(
            refused,
            format!(
                "error: {out} exists; nothing was written\nhint: run `rejoin export {} -o {out} --overwrite` to replace it\n",
                id(1)
            )
        );
        assert_eq!(written(&path), "mine");
        world.rejoin(["export", &id(1), "-o", out, "--overwrite"]).code(0);
        assert!(written(&path).starts_with(start));
    }
    let json: serde_json::Value = serde_json::from_str(&written(dir.join("a.json"))).expect("JSON");
    let shown: serde_json::Value = world.rejoin(["show", &id(1), "--transcript", "--json"]).json();
    assert_eq!(json["messages"], shown["messages"]);
    // A file that is not regular is left alone, and no other file is created next to it.
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link.md")).expect("a link");
    let link = dir.join("link.md");
    world.rejoin(["export", &id(1), "--overwrite", "-o", link.to_str().expect("a path")]).code(1);
    assert_eq!(std::fs::read_dir(&dir).expect("a listing").count(), 4);
}

#[test]
fn export_of_many_sessions_writes_an_index() {
    let world = World::new();
    world.add(session());
    world.add(Codex::session(id(2)).in_dir(APP).turn("Count <the> | rows", "there are two"));
    world.add(Amplifier::session(id(3)).in_dir("/usr").named("Elsewhere").turn("x", "y"));
    let several = world.rejoin(["export", "--every"]).code(2).stdout_eq("").stderr();
    assert!(several.contains("several sessions need a directory"), "{several}");
    assert!(several.contains("`rejoin export --every --output rejoin-export`"), "{several}");
    let out = world.root().join("out");
    let dir = out.to_str().expect("a path");
    let stderr = world.rejoin(["export", "--dir", APP, "-o", dir]).code(0).stdout_eq("").stderr();
    assert_eq!(stderr, format!("Exported 2 sessions to {dir}; begin with {dir}/index.html.\n"));
    let index = written(out.join("index.html"));
    let link = Regex::new("<a href=\"([^\"]*)\">([^<]*)</a>").expect("a pattern");
    let links: Vec<_> = link.captures_iter(&index).map(|found| (found[1].to_owned(), found[2].to_owned())).collect();
    assert_eq!(links.len(), 2, "{index}");
    for (file, _) in &links {
        assert!(written(out.join(file)).starts_with("<!doctype html>"));
    }
    let titles: Vec<&str> = links.iter().map(|(_, title)| title.as_str()).collect();
    assert!(titles.contains(&"Sort the stones") && titles.contains(&"Count &lt;the&gt; | rows"), "{titles:?}");
    // A second run changes nothing without an option.
    let again = world.rejoin(["export", "--dir", APP, "-o", dir]).code(1).stdout_eq("").stderr();
    assert!(again.contains("exists; nothing was written"), "{again}");
    world.rejoin(["export", "--dir", APP, "-o", dir, "--overwrite", "--format", "markdown"]).code(0);
    assert!(written(out.join("index.md")).contains("[Count &lt;the> \\| rows]("), "{}", written(out.join("index.md")));
}

#[test]
fn export_reads_archived_session() {
    let world = World::new();
    world.add(session());
    let live = world.rejoin(["export", &id(1), "--format", "html"]).code(0).stdout();
    world.rejoin(["archive", &id(1)]).code(0);
    wipe(&world);
    let missing = world.rejoin(["export", &id(1)]).code(5).stderr();
    assert!(missing.contains("it is in the archive"), "{missing}");
    let archived = world.rejoin(["export", &id(1), "--archived", "--format", "html"]).code(0).stderr_eq("").stdout();
    let conversation = |page: &str| {
        page.split_once("<main>").expect("a page").1.split("<section class=sub-agent").next().map(str::to_owned)
    };
    assert_eq!(conversation(&archived).map(|it| it.replace("</main>\n</body>\n</html>\n", "")), conversation(&live));
    world.rejoin(["export", &id(1), "--archived", "--format", "json"]).code(0);
}

#[test]
fn export_refuses_path_in_store() {
    let world = World::new();
    world.add(session());
    let store = world.home().join(".claude/projects/-usr-bin/a.html");
    let refused = world.rejoin(["export", &id(1), "-o", store.to_str().expect("a path")]).code(2).stderr();
    assert!(refused.contains("where an agent stores its sessions"), "{refused}");
    assert!(!store.exists());
}

#[test]
fn export_refuses_stores_archive_and_trash() {
    let world = World::new();
    let transcript = world.add(session());
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("a", "b"));
    world.rejoin(["archive", "--every"]).code(0);
    world.rejoin(["delete", &id(2), "--yes"]).code(0);
    let roots: AgentList = world.rejoin(["agents", "--json"]).json();
    let mut places: Vec<PathBuf> = roots.stores.iter().map(|store| store.root.path.clone().into()).collect();
    places.extend([".local/share/rejoin/archive", ".local/state/rejoin/trash"].map(|dir| world.home().join(dir)));
    let link = world.root().join("a-link");
    for place in &places {
        let target = place.join("new/page.html");
        for force in [&[][..], &["--overwrite"]] {
            let args = ["export", &id(1), "-o", target.to_str().expect("a path")];
            world.rejoin([&args, force].concat()).code(2);
        }
        if place.is_dir() {
            std::os::unix::fs::symlink(place, &link).expect("a link");
            let through = link.join("page.html");
            world.rejoin(["export", &id(1), "-o", through.to_str().expect("a path"), "--overwrite"]).code(2);
            std::fs::remove_file(&link).expect("a removed link");
        }
        assert!(!target.exists() && !place.join("page.html").exists(), "{}", place.display());
    }
    // A file that is a link to a transcript is refused, and one that shares its bytes is replaced without affecting the
    // other name.
    let before = std::fs::read(&transcript).expect("a transcript");
    std::os::unix::fs::symlink(&transcript, &link).expect("a link");
    world.rejoin(["export", &id(1), "-o", link.to_str().expect("a path"), "--overwrite"]).code(2);
    let shared = world.root().join("shared.html");
    std::fs::hard_link(&transcript, &shared).expect("a link");
    world.rejoin(["export", &id(1), "-o", shared.to_str().expect("a path"), "--overwrite"]).code(0);
    assert!(std::fs::read_to_string(&shared).expect("a page").contains("<html"));
    assert_eq!(std::fs::read(&transcript).expect("a transcript"), before);
}

/// Returns hostile text: text of users and programs, and parts that would run or break out if they were markup.
fn hostile(seed: usize) -> String {
    const PARTS: [&str; 20] = [
        "<script>document.title='pwned'</script>",
        "</pre></section></main><img src=x onerror=\"document.title='pwned'\">",
        "[x](javascript:document.title='pwned')",
        "![x](javascript:document.title='pwned')",
        "<a href=\"javascript:document.title='pwned'\">x</a>",
        "</title><script>document.title='pwned'</script>",
        "```html\n</code></pre><script>document.title='pwned'</script>\n```",
        "`<b>`",
        "\u{202e}txet desrever",
        "\u{1b}[2Jgone",
        "| a | b |\n| - | - |\n| <i>c</i> | d |",
        "<!-- ",
        "]]>",
        "&lt;script&gt;",
        "[a]: javascript:document.title='pwned'\n\n[a]",
        "<svg onload=document.title='pwned'>",
        "> quote\n> <style>*{display:none}</style>",
        "1. one\n2. <iframe src=javascript:document.title='pwned'>",
        "\"'><script>document.title='pwned'</script>",
        "<https://a.example/\"onmouseover=\"x>",
    ];
    let at = |step: usize| PARTS[(seed * step + seed / PARTS.len()) % PARTS.len()];
    format!("{} {seed}\n\n{}\n{}", at(1), at(7), at(11))
}

fn hostile_session(world: &World, count: usize) {
    let mut session = Claude::session(id(9)).in_dir(APP).title(&hostile(5));
    for seed in 0..count {
        session = match seed % 3 {
            0 => session.prompt(&hostile(seed)),
            1 => session.reply(&hostile(seed)),
            _ => session.reply_block(
                &format!("m{seed}"),
                &json!({"type": "tool_use", "id": format!("t{seed}"), "name": hostile(seed), "input": {"x": hostile(seed)}}),
            ),
        };
    }
    world.add(session);
}

#[test]
fn export_writes_hostile_messages_as_text() {
    let world = World::new();
    hostile_session(&world, 1000);
    let page = world.rejoin(["export", &id(9), "--format", "html"]).code(0).stderr_eq("").stdout();
    let body = page.split_once("<body>").expect("a body").1;
    let plain = "/?(p|em|strong|del|ul|ol|li|blockquote|h[1-6]|pre|code|table|thead|tbody|tr|th|td|br|hr|dl|dt|dd|header|main|section|details|summary|nav|time|a)";
    let own = Regex::new(&format!(
        "^<({plain}|(hr|br) /|ol start=\"[0-9]+\"|/?(body|html)|a rel=\"noopener noreferrer\" href=\"(https?|mailto):[^\"<>]*\"\
         |section class=(user|assistant|system)( id=prompt-[0-9]+)?|time datetime=\"[0-9TZ:.-]+\"|details class=tool\
         |pre class=said)>$"
    ))
    .expect("a pattern");
    let mut tags = 0;
    for found in Regex::new("<[^>]*>?").expect("a pattern").find_iter(body) {
        assert!(own.is_match(found.as_str()), "{:?} is markup that somebody else wrote", found.as_str());
        tags += 1;
    }
    assert!(tags > 3000, "only {tags} tags");
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
    let markdown = world.rejoin(["export", &id(9)]).code(0).stderr_eq("").stdout();
    assert!(!markdown.contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn export_writes_message_of_7_mb_completely() {
    let world = World::new();
    let long = "<b>word</b> ".repeat(600_000);
    world.add(Claude::session(id(1)).in_dir(APP).turn("go", &long));
    let page = world.rejoin(["export", &id(1), "--format", "html"]).code(0).stderr_eq("").stdout();
    assert_eq!(page.matches("&lt;b&gt;word&lt;/b&gt;").count(), 600_000);
}

#[test]
fn show_truncates_overlong_text_with_note() {
    let world = World::new();
    let long = "word ".repeat(2_000_000);
    world.add(Claude::session(id(1)).in_dir(APP).turn("go", &long).turn("on", "here"));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("word word [") && shown.contains("bytes of text left out by rejoin]\n"), "{}", shown.len());
    assert!(shown.ends_with("here\n\n") && (4 << 20..5 << 20).contains(&shown.len()));
}

/// Returns a page as a real browser renders it; `None` if there is no browser.
fn in_a_browser(page: &Path, home: &Path, options: &[&str]) -> Option<String> {
    let run = |program: &str| {
        let mut command = Command::new(program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]);
        command.args(options).arg(format!("file://{}", page.display()));
        command.env("HOME", home).stderr(Stdio::null()).output().ok()
    };
    let ran = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(run)?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Finds axe-core: the file in AXE_CORE, or npm's global installation. It is not in this repository.
fn axe() -> Option<String> {
    let global = || {
        let root = Command::new("npm").args(["root", "--global"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(root.stdout).ok()?.trim()).join("axe-core/axe.min.js"))
    };
    std::fs::read_to_string(std::env::var_os("AXE_CORE").map(PathBuf::from).or_else(global)?).ok()
}

#[test]
fn axe_finds_no_problem_in_light_and_dark() {
    let Some(axe) = axe() else {
        println!("skipped: there is no axe-core here; AXE_CORE names its axe.min.js");
        return;
    };
    let world = World::new();
    let code = "# Done\n\n```rust\n// why\nfn main() { let x = \"y\"; return 42; }\n```\n\n| a | b |\n| - | - |\n| 1 | `c` |\n\n> quoted\n\n1. [link](https://a.example/)\n";
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -l # list"}});
    world.add(Claude::session(id(1)).in_dir(APP).title("Look around").turn("go", code).reply_block("m9", &call));
    world.add(Claude::session(id(2)).in_dir(APP).turn("second", "## Small\n\ntext"));
    let out = world.root().join("pages");
    world.rejoin(["export", "--every", "--format", "html", "-o", out.to_str().expect("a path")]).code(0);
    let pages = walkdir::WalkDir::new(&out).into_iter().map(|entry| entry.expect("an entry").into_path());
    let pages: Vec<PathBuf> = pages.filter(|page| page.extension().is_some_and(|kind| kind == "html")).collect();
    assert_eq!(pages.len(), 3, "two sessions and an index: {pages:?}");
    let policy = Regex::new("<meta http-equiv=[^>]*>").expect("a pattern");
    let ask = "axe.run(document).then(found => { const told = document.createElement('pre'); told.id = 'told';\
               told.textContent = JSON.stringify({dark: matchMedia('(prefers-color-scheme: dark)').matches,\
               passed: found.passes.map(rule => rule.id), wrong: found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html)])});\
               document.body.append(told); })";
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        // Folded parts are checked, too; and the page itself allows no script.
        let text = policy.replace(&text, "").replace("<details class=tool>", "<details class=tool open>");
        let opened = world.root().join("opened.html");
        std::fs::write(&opened, format!("{text}<script>{axe}</script><script>{ask}</script>")).expect("a page");
        for (scheme, is_dark) in [("preferredColorScheme=0", true), ("preferredColorScheme=1", false)] {
            let option = format!("--blink-settings={scheme}");
            let Some(dom) = in_a_browser(&opened, &world.dir("browser"), &[&option]) else {
                println!("skipped: there is no Chromium here");
                return;
            };
            let told =
                dom.split_once("<pre id=\"told\">").expect("an answer").1.split("</pre>").next().unwrap_or_default();
            let told = told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
            assert_eq!(told["dark"], is_dark, "{scheme}");
            assert_eq!(told["wrong"], json!([]), "{} in {scheme}", page.display());
            for rule in ["color-contrast", "heading-order", "page-has-heading-one", "html-has-lang", "document-title"] {
                let passed = told["passed"].as_array().expect("rules");
                assert!(passed.iter().any(|name| name == rule), "{rule} was not asked: {passed:?}");
            }
        }
    }
}

#[test]
fn browser_runs_no_code_of_exported_session() {
    let world = World::new();
    hostile_session(&world, 300);
    let page = world.root().join("page.html");
    world.rejoin(["export", &id(9), "-o", page.to_str().expect("a path")]).code(0);
    let Some(dom) = in_a_browser(&page, &world.dir("browser"), &[]) else {
        println!("skipped: there is no Chromium here");
        return;
    };
    assert!(!dom.contains("<title>pwned</title>"), "a script has run");
    for element in ["<script", "<img", "<iframe", "<svg", "<style>*"] {
        let count = dom.matches(element).count();
        assert_eq!(count, 0, "the browser found {element}");
    }
    assert_eq!(dom.matches("<details class=\"tool\">").count(), 100);
    assert_eq!(dom.matches("<section class=\"user\"").count(), 100);
}

#[test]
fn show_path_prints_file_of_session() {
    let world = World::new();
    let at = |path: &Path| format!("[ROOT]/{}\n", path.strip_prefix(world.root()).expect("a path").display());
    let path = world.add(session());
    world.rejoin(["show", "--path", &id(1)]).code(0).stderr_eq("").stdout_eq(at(&path));
    world.rejoin(["show", "--path", "sort", "the", "stones"]).code(0).stdout_eq(at(&path));
    world.rejoin(["show", "--path", "nothing-like-it"]).code(5).stdout_eq("");
    // Only the user can choose between two copies that differ.
    world.add(Claude::session(id(2)).in_dir(APP).turn("same", "x").turn("one way", "x"));
    let other = world.add(Claude::session(id(2)).in_dir("/usr").turn("same", "x").turn("another way", "y"));
    world.rejoin(["show", "--path", &id(2)]).code(6).stdout_eq("");
    let warning = world.rejoin(["export", &id(2)]).code(0).stderr();
    assert!(warning.contains("has 2 copies, and ") && warning.contains(".jsonl is exported"), "{warning}");
    let copy = other.to_str().expect("a path");
    world.rejoin(["show", "--path", &id(2), "--copy", copy]).code(0).stdout_eq(at(&other));
    // The newer of two copies may have fewer messages.
    let long = Claude::session(id(3)).in_dir(APP).turn("one", "1").turn("two", "2").turn("three", "3");
    world.add(long);
    world.add(Claude::session(id(3)).in_dir("/usr").at("2026-02-20T10:00:00Z").turn("stub of a wrong resume", "hm"));
    world.rejoin(["show", "--path", &id(3)]).code(6).stdout_eq("");
}

#[test]
fn export_refuses_unknown_file_extension() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("hello", "hi"));
    for (name, why) in
        [("page.pdf", "pdf is not a form of export"), ("page", "has no ending that names a form of export")]
    {
        let out = world.root().join(name);
        let out = out.to_str().expect("a path");
        let stderr = world.rejoin(["export", &id(1), "-o", out]).code(2).stdout_eq("").stderr();
        assert!(
            stderr.contains(why) && stderr.contains("end the name in .md, .html or .json, or in / for a directory"),
            "{stderr}"
        );
        assert!(!Path::new(out).exists());
        world.rejoin(["export", &id(1), "-o", out, "--format", "html"]).code(0);
    }
}

/// Characters and pairs that begin or end something in Markdown or HTML. The build without optimization samples them.
const MARKS: [&str; 48] = [
    "[", "(", "*", "_", "`", "<", "~", "#", ">", "`a", "|", "&", "-", "+", "=", ":", "\"", "{", "\\", "$", "^", "@",
    "\n", "\t", "1.", "]", "!", "[a](", "![", "[]", "[^a]", "<a ", "<!--", "<?", "*a", "**a ", "~~a", "&a;",
    "[a]: b\n", "![a](b) ", "[a](<", "](", "a``", "<a\n", "- a\n", "> a\n", "|a\n", "```\n",
];

#[test]
fn export_takes_linear_time_for_every_mark() {
    // Linear work takes 0.5 s on an idle machine, and quadratic work takes minutes.
    let (size, limit) = if cfg!(debug_assertions) { (400_000, 10) } else { (1_000_000, 5) };
    for (_, mark) in MARKS.into_iter().enumerate().filter(|(case, _)| is_tried(*case, 9)) {
        let world = World::new();
        let text = mark.repeat(size / mark.len());
        world.add(Claude::session(id(1)).in_dir(APP).turn(&text, &text));
        for format in ["markdown", "html"] {
            let start = Instant::now();
            world.rejoin(["export", &id(1), "--format", format]).code(0);
            let time = start.elapsed();
            assert!(time < Duration::from_secs(limit), "{mark:?} {format} {time:?}");
        }
    }
}
