//! The answer of a command, and its output in each format.

use std::io::{self, Write};

use serde::Serialize;

use super::document::{AnswerDocument, write_object};
use super::rows::RowWriter;
use super::serializer;
use crate::cli::Format;
use crate::format::json_writer::Harmless;
use crate::system::env::Env;
use crate::view::ui::{Styles, Ui};

/// The answer of a command.
pub(crate) trait Answer {
    /// Set if the last line of ndjson has the number of items.
    const COUNTS_ITEMS: bool = false;

    /// Set if a list among the fields has the items. An answer about one thing is one line of ndjson, and one row.
    const HAS_ITEMS: bool = true;

    /// Returns the kind of the answer, and its fields in the one object of `--json`.
    ///
    /// The first list among them has the items: ndjson has a header, one line per item, and a summary of the fields
    /// that follow the list.
    fn object(&self) -> (&'static str, impl Serialize);

    /// Returns whether a pipe gets rows by default, because the answer is a list.
    fn is_list(&self) -> bool {
        false
    }

    /// Returns whether the lines for users are pasted or saved, so that they are never wrapped.
    fn is_literal(&self) -> bool {
        false
    }

    /// Writes the answer as tsv or csv: one row per item.
    fn rows(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        let (kind, fields) = self.object();
        let mut rows = RowWriter::new(out, format);
        if Self::HAS_ITEMS {
            serializer::write_lines(&mut rows, &AnswerDocument::new(kind, fields), Self::COUNTS_ITEMS)?;
        } else {
            write_object(&mut rows, kind, fields)?;
        }
        rows.finish()
    }

    /// Returns whether a change is only planned; `None` for an answer about something else.
    fn is_plan(&self) -> Option<bool> {
        None
    }

    /// Writes the answer for users.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()>;

    /// Writes the answer with `--quiet`: for a change that was made, one line and the failures; else the whole answer.
    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.table(out, env, styles)
    }
}

impl Ui {
    /// Prints an answer in the requested format.
    pub(crate) fn answer(
        &mut self,
        format: impl Into<Option<Format>>,
        env: &Env,
        answer: &(impl Answer + ?Sized),
    ) -> io::Result<()> {
        let styles = self.styles;
        let usual = || if env.terminal.stdout || !answer.is_list() { Format::Table } else { Format::Tsv };
        let format = format.into().unwrap_or_else(usual);
        if format == Format::Table {
            match answer.is_plan() {
                _ if answer.is_literal() => self.hold_pages(env),
                // Do not page the result: its totals and the undo command are at the end, and must be seen.
                Some(false) => self.fold(env)?,
                _ => self.page(env)?,
            }
        }
        match format {
            Format::Table if self.is_quiet() && answer.is_plan() != Some(true) => {
                answer.brief(self.data(), env, &styles)?
            }
            format => write(self.data(), format, env, &styles, answer)?,
        }
        self.flush()
    }
}

fn write<A: Answer + ?Sized>(
    out: &mut impl Write,
    format: Format,
    env: &Env,
    styles: &Styles,
    answer: &A,
) -> io::Result<()> {
    match format {
        Format::Table => answer.table(out, env, styles),
        Format::Tsv | Format::Csv => answer.rows(out, format),
        Format::Ndjson if A::HAS_ITEMS => {
            let (kind, fields) = answer.object();
            serializer::write_lines(&mut Harmless(out), &AnswerDocument::new(kind, fields), A::COUNTS_ITEMS)
        }
        Format::Json | Format::Ndjson => {
            let (kind, fields) = answer.object();
            write_object(out, kind, fields)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::render::items::ItemList;

    struct Numbers(usize);

    impl Answer for Numbers {
        const COUNTS_ITEMS: bool = true;

        fn object(&self) -> (&'static str, impl Serialize) {
            #[derive(Serialize)]
            struct TestFields<'a> {
                dir: &'a str,
                of: serde_json::Value,
                numbers: ItemList<'a, serde_json::Value>,
                #[serde(flatten)]
                rest: serde_json::Value,
            }
            let numbers = ItemList::counted(self.0, |at| json!({ "number": at, "list": [at, [at]] }));
            (
                "numbers",
                TestFields { dir: "/x", of: json!({ "a": 1 }), numbers, rest: json!({ "more": [1, { "b": 2 }] }) },
            )
        }

        fn table(&self, out: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
            writeln!(out, "{}", self.0)
        }
    }

    fn written(format: Format, count: usize) -> String {
        let mut out = Vec::new();
        let env = crate::system::env::tests::fixed();
        write(&mut out, format, &env, &Styles::default(), &Numbers(count)).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn ndjson_has_header_items_and_summary() {
        assert_eq!(
            written(Format::Ndjson, 2),
            concat!(
                "{\"format_version\":\"1.0\",\"kind\":\"numbers\"}\n",
                "{\"list\":[0,[0]],\"number\":0}\n",
                "{\"list\":[1,[1]],\"number\":1}\n",
                "{\"kind\":\"summary\",\"numbers\":2,\"more\":[1,{\"b\":2}]}\n",
            )
        );
        assert!(written(Format::Ndjson, 0).ends_with("{\"kind\":\"summary\",\"numbers\":0,\"more\":[1,{\"b\":2}]}\n"));
    }

    #[test]
    fn writer_writes_many_items_once_in_order() {
        for count in [1, 64, 65, 4096, 4097, 10_000] {
            let object: serde_json::Value = serde_json::from_str(&written(Format::Json, count)).expect("JSON");
            let numbers = object["numbers"].as_array().expect("a list");
            assert!(numbers.iter().map(|item| item["number"].as_u64()).eq((0..count as u64).map(Some)));
            let text = written(Format::Ndjson, count);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), count + 2);
            let items: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            assert_eq!(lines[1..=count], items);
        }
    }
}
