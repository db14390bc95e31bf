//! Arguments of `config`.

use clap::Args;

use crate::cli::options::FormatArgs;

/// Arguments of `config`.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub format: FormatArgs,
}
