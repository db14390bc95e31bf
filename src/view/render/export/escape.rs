//! Escapes foreign text in a page of HTML.

/// Returns text for a page or for the value of an attribute, with everything escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
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
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn escape_keeps_code_and_adds_no_markup(code in "[ -~\n\u{e4}'\"`#/*]{0,200}") {
            let html = escaped(&code);
            prop_assert!(!html.contains('<') && !html.contains('"'));
            let text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(text, code);
        }
    }
}
