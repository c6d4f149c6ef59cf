// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Makes OUT_DIR/{types,linked,opened}.rs from the headers; tests/regenerate.rs compares them with those in src.

use std::env;
use std::path::{Path, PathBuf};

use quote::{format_ident, quote};
use syn::{FnArg, ForeignItem, Item, ItemForeignMod};

const HEAD: &str = "// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Made from include/c_api/gradstep by the feature `regenerate`; see tests/regenerate.rs.\n\n";

pub(crate) fn run(source: &Path) {
    let include = source.join("include/c_api");
    println!("cargo::rerun-if-changed={}", include.display());
    let bindings = bindgen::Builder::default()
        .header(include.join("gradstep/gradstep.h").to_str().expect("a path of UTF-8"))
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_file(".*/gradstep/[a-z_]+\\.h")
        .blocklist_file(".*/gradstep/rules\\.h") // inline functions and their structs
        .prepend_enum_name(false)
        .derive_default(true)
        .generate_comments(false) // the headers have them, in their own format
        .generate_cstr(true)
        .use_core()
        .rust_target(bindgen::RustTarget::stable(85, 0).expect("a version that bindgen knows"))
        .rust_edition(bindgen::RustEdition::Edition2024)
        .formatter(bindgen::Formatter::None)
        .generate()
        .expect("bindgen reads the headers")
        .to_string();
    let file: syn::File = syn::parse_str(&bindings).expect("bindgen writes Rust");
    let (foreign, types): (Vec<Item>, Vec<Item>) =
        file.items.into_iter().partition(|item| matches!(item, Item::ForeignMod(_)));
    let functions: Vec<ItemForeignMod> = foreign
        .into_iter()
        .map(|item| if let Item::ForeignMod(block) = item { block } else { unreachable!("partitioned") })
        .collect();
    write("types.rs", types);
    let opened = opened(&functions);
    write("linked.rs", functions.into_iter().map(Item::ForeignMod).collect());
    write("opened.rs", opened);
}

/// For every function of the library a field in a table, and a function of the same name that calls what is there.
fn opened(blocks: &[ItemForeignMod]) -> Vec<Item> {
    let (mut fields, mut lookups, mut forwards) = (Vec::new(), Vec::new(), Vec::<Item>::new());
    for item in blocks.iter().flat_map(|block| &block.items) {
        let ForeignItem::Fn(function) = item else { panic!("the headers declare functions alone") };
        let (name, output) = (&function.sig.ident, &function.sig.output);
        let arguments = &function.sig.inputs;
        let names: Vec<_> = arguments
            .iter()
            .map(|argument| if let FnArg::Typed(typed) = argument { &typed.pat } else { unreachable!("C has no self") })
            .collect();
        let symbol = syn::LitCStr::new(
            &std::ffi::CString::new(name.to_string()).expect("a name of C"),
            proc_macro2::Span::call_site(),
        );
        fields.push(quote! { #name: unsafe extern "C" fn(#arguments) #output });
        lookups.push(quote! { #name: unsafe { *library.get(#symbol)? } });
        forwards.push(syn::parse_quote! {
            #[inline]
            pub unsafe fn #name(#arguments) #output {
                unsafe { (functions().#name)(#(#names),*) }
            }
        });
    }
    let table = format_ident!("Functions");
    let mut items: Vec<Item> = vec![
        syn::parse_quote! { pub(crate) struct #table { #(#fields),* } },
        syn::parse_quote! {
            impl #table {
                pub(crate) unsafe fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                    Ok(Self { #(#lookups),* })
                }
            }
        },
    ];
    items.extend(forwards);
    items
}

fn write(name: &str, items: Vec<Item>) {
    let file = syn::File { shebang: None, attrs: Vec::new(), items };
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join(name);
    std::fs::write(&path, format!("{HEAD}{}", prettyplease::unparse(&file))).expect("OUT_DIR can be written to");
}
