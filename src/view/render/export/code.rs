//! Highlights code without a grammar of its language: strings, comments, numbers and the words that most languages
//! share.
//!
//! The grammars of a highlighter backtrack, and the code is foreign text; this reads each character once.

use std::fmt::Write as _;

/// Writes code as HTML, its parts in spans.
pub(super) fn highlighted(code: &str, language: &str) -> String {
    let language = language.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
    let mut out = String::with_capacity(code.len() + code.len() / 4);
    match &*language {
        "" | "text" | "txt" | "plain" | "console" | "output" | "log" | "md" | "markdown" | "csv" => {
            escape(&mut out, code);
        }
        "diff" | "patch" => code.split_inclusive('\n').for_each(|line| diff_line(&mut out, line)),
        "bash" | "conf" | "dockerfile" | "elixir" | "ini" | "make" | "makefile" | "nix" | "perl" | "py" | "python"
        | "r" | "rb" | "ruby" | "sh" | "shell" | "toml" | "yaml" | "yml" | "zsh" => tokens(&mut out, code, "#"),
        "sql" | "lua" | "haskell" | "hs" | "elm" => tokens(&mut out, code, "--"),
        _ => tokens(&mut out, code, "//"),
    }
    out
}

/// Returns whether a word is a keyword of most languages.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "as" | "async"
            | "await"
            | "break"
            | "case"
            | "catch"
            | "class"
            | "const"
            | "continue"
            | "def"
            | "default"
            | "do"
            | "done"
            | "elif"
            | "else"
            | "end"
            | "enum"
            | "esac"
            | "except"
            | "export"
            | "extends"
            | "false"
            | "fi"
            | "finally"
            | "fn"
            | "for"
            | "from"
            | "func"
            | "function"
            | "if"
            | "impl"
            | "import"
            | "in"
            | "interface"
            | "let"
            | "match"
            | "mod"
            | "mut"
            | "new"
            | "nil"
            | "none"
            | "None"
            | "null"
            | "package"
            | "pass"
            | "pub"
            | "raise"
            | "return"
            | "self"
            | "static"
            | "struct"
            | "super"
            | "switch"
            | "then"
            | "this"
            | "throw"
            | "trait"
            | "true"
            | "True"
            | "False"
            | "try"
            | "type"
            | "undefined"
            | "use"
            | "var"
            | "void"
            | "where"
            | "while"
            | "with"
            | "yield"
    )
}

fn diff_line(out: &mut String, line: &str) {
    let class = match line.as_bytes().first() {
        Some(b'+') => "a",
        Some(b'-') => "d",
        Some(b'@') => "c",
        _ => return escape(out, line),
    };
    span(out, class, line);
}

fn tokens(out: &mut String, code: &str, line_comment: &str) {
    let mut rest = code;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let starts_word = before.is_none_or(|before: char| !before.is_alphanumeric() && before != '_');
        // In a shell, `$#` and `a#b` do not begin a comment.
        let begins_comment =
            rest.starts_with(line_comment) && (line_comment != "#" || before.is_none_or(char::is_whitespace));
        let (length, class) = if begins_comment {
            (rest.find('\n').unwrap_or(rest.len()), "c")
        } else if line_comment == "//" && rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), "c")
        } else if matches!(first, '"' | '\'' | '`') && starts_word {
            match string(rest, first) {
                Some(length) => (length, "s"),
                None => (first.len_utf8(), ""),
            }
        } else if first.is_ascii_digit() && starts_word {
            (rest.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len()), "n")
        } else if (first.is_alphabetic() || first == '_') && starts_word {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (length, if is_keyword(&rest[..length]) { "k" } else { "" })
        } else {
            (first.len_utf8(), "")
        };
        let (token, left) = rest.split_at(length);
        match class {
            "" => escape(out, token),
            class => span(out, class, token),
        }
        before = token.chars().next_back();
        rest = left;
    }
}

/// Returns the length of a string that ends on its line.
fn string(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

fn span(out: &mut String, class: &str, text: &str) {
    let _ = write!(out, "<span class={class}>");
    escape(out, text);
    out.push_str("</span>");
}

/// Adds text to a page or to the value of an attribute, with everything escaped.
pub(super) fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

/// Returns text as [`escape`] writes it.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_comments_numbers_and_keywords_are_highlighted() {
        assert_eq!(
            highlighted("let x = \"a<b\"; // 1\n", "rust"),
            "<span class=k>let</span> x = <span class=s>&quot;a&lt;b&quot;</span>; <span class=c>// 1</span>\n"
        );
        assert_eq!(
            highlighted("if [ $# = 2 ] # two\n", "sh"),
            "<span class=k>if</span> [ $# = <span class=n>2</span> ] <span class=c># two</span>\n"
        );
        assert_eq!(highlighted("it's <b>", "text"), "it&#39;s &lt;b&gt;");
        assert_eq!(highlighted("-a\n+b\n c\n", "diff"), "<span class=d>-a\n</span><span class=a>+b\n</span> c\n");
    }

    proptest! {
        #[test]
        fn nothing_of_the_code_is_lost_or_becomes_markup(code in "[ -~\n\u{e4}'\"`#/*]{0,200}", language in "(rust|sh|sql|diff|text|)") {
            let html = highlighted(&code, &language);
            let bare = regex::Regex::new("<span class=[a-z]>|</span>").expect("a pattern").replace_all(&html, "").into_owned();
            prop_assert!(!bare.contains('<') && !bare.contains('"'));
            let text = bare.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(text, code);
        }
    }
}
