//! herdtop's program: everything is in the library.

fn main() -> std::process::ExitCode {
    herdtop::cli::main()
}
