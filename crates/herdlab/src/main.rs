//! herdlab's program: everything is in the library.

fn main() -> std::process::ExitCode {
    herdlab::cli::main()
}
