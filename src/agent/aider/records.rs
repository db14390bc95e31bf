//! Parses the Markdown of a history: starts of the program, prompts, answers, and output of the program.
//!
//! Facts: measured on Aider 0.86.2. Every line of a prompt and of the program's output ends in two blanks, which
//! distinguishes most of them from lines of an answer. Answers are verbatim, so their lines can begin with `####` and
//! `>` too.

/// The text before the time in the first line of a start.
pub(super) const START: &str = "# aider chat started at ";
/// The program's first line of output in a start. The lines before are its command line, with the raw lines of
/// `--message`.
const VERSION: &str = "> Aider v";
pub(super) const BLANKS: &str = "  ";
/// Maximum length of a text in bytes, so that a file without any delimiter is never loaded whole.
const MAX_TEXT: usize = 4 * 1024 * 1024;

/// A piece of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HistoryPiece {
    /// A start of the program, at a local time.
    Start(String),
    /// The model of the following answers.
    Model(String),
    /// A prompt of the user.
    Prompt(String),
    /// An answer of the model.
    Answer(String),
    /// Output of the program.
    Output(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AiderBlock {
    #[default]
    None,
    Prompt,
    Answer,
    Output,
    /// Output of the program with raw line ends, up to a line that ends in two blanks.
    OpenOutput,
}

/// Splits a history into pieces, line by line.
#[derive(Debug, Default)]
pub(super) struct HistorySplitter {
    has_begun: bool,
    is_command_line: bool,
    /// Set during the output that the program prints at every start.
    is_head: bool,
    block: AiderBlock,
    text: String,
}

impl HistorySplitter {
    /// Parses the next line, without its newline.
    pub(super) fn line(&mut self, line: &str, see: &mut dyn FnMut(HistoryPiece)) {
        self.is_head &= line.starts_with('>');
        if let Some(at) = line.strip_prefix(START).filter(|at| at.starts_with(|c: char| c.is_ascii_digit())) {
            self.end(see);
            (self.has_begun, self.is_command_line) = (true, true);
            see(HistoryPiece::Start(at.trim().to_owned()));
        } else if !self.has_begun || self.is_command_line {
            self.is_head = line.starts_with(VERSION) && line.ends_with(BLANKS);
            self.is_command_line &= !self.is_head;
        } else if self.block == AiderBlock::OpenOutput {
            self.add(line.trim_end());
            if line.ends_with(BLANKS) {
                self.block = AiderBlock::Output;
            }
        } else if let Some(prompt) = line.strip_prefix("#### ").and_then(|prompt| prompt.strip_suffix(BLANKS)) {
            self.take_up(AiderBlock::Prompt, see);
            self.add(prompt);
        } else if let Some(output_line) = line.strip_prefix('>').filter(|_| line.ends_with(BLANKS)) {
            self.take_up(AiderBlock::Output, see);
            self.output(output_line.trim(), see);
        } else if let Some(output_line) = line.strip_prefix("> ").filter(|_| self.block == AiderBlock::Output) {
            self.add(output_line);
            self.block = AiderBlock::OpenOutput;
        } else if !line.trim().is_empty() || self.block == AiderBlock::Answer {
            self.take_up(AiderBlock::Answer, see);
            self.add(line);
        } else if self.block == AiderBlock::Prompt {
            self.end(see);
        }
        if self.text.len() > MAX_TEXT {
            self.end(see);
        }
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, see: &mut dyn FnMut(HistoryPiece)) {
        let text = std::mem::take(&mut self.text);
        match std::mem::take(&mut self.block) {
            AiderBlock::Prompt => see(HistoryPiece::Prompt(text)),
            _ if text.trim().is_empty() => {}
            AiderBlock::Answer => see(HistoryPiece::Answer(text.trim().to_owned())),
            AiderBlock::Output | AiderBlock::OpenOutput => see(HistoryPiece::Output(text.trim().to_owned())),
            AiderBlock::None => {}
        }
    }

    fn output(&mut self, output_line: &str, see: &mut dyn FnMut(HistoryPiece)) {
        if let Some(model) = output_line.strip_prefix("Model: ") {
            see(HistoryPiece::Model(model.split(" with ").next().unwrap_or(model).to_owned()));
        }
        // Costs follow each answer.
        if !self.is_head && !output_line.starts_with("Tokens: ") && !output_line.is_empty() {
            self.add(output_line);
        }
    }

    fn take_up(&mut self, block: AiderBlock, see: &mut dyn FnMut(HistoryPiece)) {
        if self.block != block {
            self.end(see);
            self.block = block;
        }
    }

    fn add(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<HistoryPiece> {
        let (mut history, mut pieces) = (HistorySplitter::default(), Vec::new());
        for line in text.lines() {
            history.line(line, &mut |piece| pieces.push(piece));
        }
        history.end(&mut |piece| pieces.push(piece));
        pieces
    }

    fn talk(text: &str) -> Vec<HistoryPiece> {
        let all =
            pieces(&format!("\n# aider chat started at 2026-02-01 10:00:00\n\n> aider  \n> Aider v0.86.2  \n\n{text}"));
        all.into_iter().skip(1).collect()
    }

    fn prompt(text: &str) -> HistoryPiece {
        HistoryPiece::Prompt(text.to_owned())
    }

    fn answer(text: &str) -> HistoryPiece {
        HistoryPiece::Answer(text.to_owned())
    }

    #[test]
    fn parser_joins_lines_of_prompt() {
        let text = "#### one \ttwo   \n####   \n#### #### four  \n\nDone.\n\n```\n  x\n```\n\n> Tokens: 5 sent, 3 received.  \n";
        assert_eq!(talk(text), [prompt("one \ttwo \n\n#### four"), answer("Done.\n\n```\n  x\n```")]);
    }

    #[test]
    fn reply_lines_are_not_prompts_or_output() {
        let text =
            "#### a  \n\nSteps:\n#### first\n> quoted\nend\n\n> Tokens: 5 sent, 3 received.  \n> Applied edit to x  \n";
        let output = HistoryPiece::Output("Applied edit to x".to_owned());
        assert_eq!(talk(text), [prompt("a"), answer("Steps:\n#### first\n> quoted\nend"), output]);
    }

    #[test]
    fn command_line_after_start_has_no_prompt() {
        let text = "\n# aider chat started at 2026-02-01 10:00:00\n\n> aider --message x\n#### y  \n# z\n> q  \n> Aider v0.86.2  \n\
                    > Model: p/model-x with whole edit format  \n\n#### x  \n\n# aider chat started at 2026-02-02 11:00:00\n\n> aider  \n";
        let start = |at: &str| HistoryPiece::Start(at.to_owned());
        let expected = [
            start("2026-02-01 10:00:00"),
            HistoryPiece::Model("p/model-x".to_owned()),
            prompt("x"),
            start("2026-02-02 11:00:00"),
        ];
        assert_eq!(pieces(text), expected);
    }

    #[test]
    fn program_output_may_contain_unquoted_lines() {
        let text = "#### a  \n\nok\n\n> Tokens: 1 sent.  \n> Commit 12ab fix\nraw\n#### raw\nend  \n\n#### b  \n";
        let output = HistoryPiece::Output("Commit 12ab fix\nraw\n#### raw\nend".to_owned());
        assert_eq!(talk(text), [prompt("a"), answer("ok"), output, prompt("b")]);
    }

    #[test]
    fn text_without_start_line_has_no_pieces() {
        for other in
            ["", "#### a  \n\nb\n", "# aider chat started at noon\n> Aider v1  \n#### a  \n", "\u{0}\u{fffd}\n"]
        {
            assert_eq!(pieces(other), [], "{other:?}");
        }
    }
}
