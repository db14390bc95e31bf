//! Checks exported Markdown in two parsers that let HTML through.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pulldown_cmark::{Options, Parser};
use regex::Regex;

use crate::session::{Message, Role};
use crate::system::env::Env;
use crate::view::render::export::{ExportPage as _, MarkdownPage};

static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new("(?s)<([^>]*)>?").expect("a pattern"));
static PLAIN_TAG: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r#"^(/?(p|h[1-6]|ul|ol|li|code|pre|em|strong|del|blockquote|table|thead|tbody|tr|th|td|details|summary)|[bh]r ?/?"#,
        r#"|/a|a href="(https?://|mailto:)[^"<>]*"|ol start="[0-9]+"|t[hd] (style="text-align: [a-z]+"|align="[a-z]+")"#,
        r#"|code class="language-[A-Za-z0-9+#._-]+"|input [a-z=" ]*type="checkbox"[a-z=" /]*)$"#
    );
    Regex::new(pattern).expect("a pattern")
});

/// Renders a page in each parser, with HTML let through.
fn rendered(page: &str) -> [String; 2] {
    let mut pulldown = String::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    pulldown_cmark::html::push_html(&mut pulldown, Parser::new_ext(page, options));
    let compile = markdown::CompileOptions {
        allow_dangerous_html: true,
        allow_dangerous_protocol: true,
        ..markdown::CompileOptions::gfm()
    };
    let options = markdown::Options { compile, ..markdown::Options::gfm() };
    [pulldown, markdown::to_html_with_options(page, &options).expect("Markdown has no errors")]
}

/// Returns the parts of a page of these messages that no page may contain.
pub(crate) fn fault(messages: &[(Role, String)], env: &Env) -> Option<String> {
    let mut out = Vec::new();
    let mut page = MarkdownPage::new(&mut out, env);
    let mut speakers = Vec::new();
    for (role, text) in messages {
        page.message(&Message::new(*role, text.clone(), None)).expect("a page in memory");
        match role {
            Role::User => speakers.push("<h2>User</h2>"),
            Role::Assistant => speakers.push("<h2>Assistant</h2>"),
            _ => {}
        }
    }
    page.end().expect("a page in memory");
    let page = String::from_utf8(out).expect("text");
    rendered(&page).into_iter().find_map(|html| {
        let tags: BTreeSet<&str> = TAG.captures_iter(&html).filter_map(|tag| Some(tag.get(1)?.as_str())).collect();
        if let Some(tag) = tags.into_iter().find(|tag| !PLAIN_TAG.is_match(tag)) {
            return Some(format!("<{tag}> in {html}\nof {page}"));
        }
        let heads: Vec<&str> = html.lines().filter(|line| line.contains("<h2")).collect();
        (heads != speakers).then(|| format!("{heads:?} in {html}\nof {page}"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Tag};

    use super::*;
    use crate::system::env::tests::fixed;
    use crate::view::render::export::literal::typed;
    use crate::view::render::export::rewrite::rewrite;
    use crate::view::render::export::{reply, visible};

    /// Pieces of Markdown, HTML and text that have another meaning together.
    const PIECES: &[&str] = &[
        "a",
        "b c",
        "x_y",
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```",
        "````",
        "~~~",
        "\n",
        "\n\n",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "- ",
        "+ ",
        "1. ",
        "2) ",
        "10. ",
        "> ",
        "# ",
        "## ",
        "---",
        "===",
        "***",
        "\n---\n",
        "|",
        "| a | b |\n|---|---|\n",
        "|:-:|\n",
        "\\",
        "\\\\",
        "!",
        "[",
        "]",
        "(",
        ")",
        "[x]",
        "![x]",
        "\\![x](data:text/html,y)",
        "![x](data:y)",
        "[x](javascript:alert(1))",
        "[x]: javascript:alert(1)\n",
        "[x]: https://a.example 'onclick=1'\n",
        "[x][]",
        "[a](https://a.example/\"onclick=\"y)",
        "[a](<https://a.example/>x>)",
        "![p](https://a.example/p.png)",
        "[![p](https://a.example/p.png)](https://b.example)",
        "<javascript:alert(1)>",
        "<https://a.example>",
        "<script>alert(1)</script>",
        "<script>",
        "</script>",
        "<img src=x onerror=alert(1)>",
        "<!--",
        "-->",
        "<![CDATA[",
        "<?php",
        "<div onclick=x>",
        "</details>",
        "<details>",
        "<pre>",
        "</pre>",
        "<style>",
        "<a href='javascript:x'>",
        "<svg/onload=alert(1)>",
        "&lt;script&gt;",
        "&#60;script&#62;",
        "&#x6a;avascript:x",
        "&colon;",
        "&#10;",
        "&#32;",
        "&#x202e;",
        "&copy",
        "&amp;",
        "{: onclick=x}",
        "{#id .c onload=x}",
        "$",
        "$$",
        "[^1]",
        "[^1]: note\n",
        "^",
        "==",
        "=",
        ":",
        "::: x\n",
        "%%",
        "- [ ] ",
        "- [x] ",
        "www.a.example/_b_",
        "http://a.example/?a=1&lt=2",
        "a@b.example",
        "\u{a0}",
        "\u{200b}",
        "é",
        "\u{1b}[2J",
        "\r",
        "\r\n",
        "+++\n",
        "  \n",
        "## User · 2026-01-01 00:00:00\n",
        "1.\n",
        "-\n",
        "`a|b`",
        "`a\\|b`",
        "`` ` ``",
        "```html\n",
        "```\n",
        "\n```\n",
        "    code\n",
    ];

    fn conversation() -> impl Strategy<Value = Vec<(Role, String)>> {
        let text = prop::collection::vec(prop::sample::select(PIECES), 1..14).prop_map(|pieces| pieces.concat());
        let role =
            prop::sample::select(&[Role::Assistant, Role::Assistant, Role::Assistant, Role::User, Role::Tool][..]);
        prop::collection::vec((role, text), 1..5)
    }

    /// Returns the letters and digits of a reply and of its addresses. An `x` may be a mark of a list of tasks.
    fn letters(reply: &str) -> String {
        let pieces = reply::events(reply).into_iter().filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.into_string()),
            Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.replace('"', "%22")),
            _ => None,
        });
        pieces.collect::<String>().chars().filter(|c| c.is_alphanumeric() && *c != 'x').collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn exported_page_runs_and_loads_nothing(said in conversation()) {
            let fault = fault(&said, &fixed());
            prop_assert!(fault.is_none(), "{}\n{said:?}", fault.unwrap_or_default());
        }

        #[test]
        fn export_keeps_every_letter_of_prompt(said in conversation()) {
            for (_, said) in said {
                // The language of a fence is not compared.
                let mut prompt = visible(&said);
                while prompt.contains("```") {
                    prompt = prompt.replace("```", "``");
                }
                let plain: String = prompt.chars().filter(|c| c.is_alphanumeric() && *c != 'x').collect();
                let page = typed(&prompt).join("\n");
                prop_assert_eq!(plain, letters(&page), "{}\n{}", prompt, page);
            }
        }

        #[test]
        fn export_keeps_every_letter_of_reply(said in conversation()) {
            for (_, said) in said {
                let reply = visible(&said);
                let Some(rewritten) = rewrite(&reply) else { continue };
                prop_assert_eq!(letters(&reply), letters(&rewritten), "{}\n{}", reply, rewritten);
            }
        }
    }
}
