# bash completion for croft: commands, options and their values, kernels and other files.
#
#   croft ex<TAB>    croft run soft<TAB>    croft run softmax.croft --target s<TAB>
#   croft run softmax.croft <TAB>    x= y= R= ..    croft run softmax.croft x=ra<TAB>
#
# Commands, options, machines and passes are asked of the command, so that the two cannot differ.

_croft_commands() {
    "$1" --help 2>/dev/null | grep -oE '(^  |, )croft [a-z]+' | sed 's/.*croft //' | sort -u
}

_croft_options() {
    "$1" --help 2>/dev/null | sed -n '/^options$/,/^$/p' | grep -oE '(^  |, )--?[a-z][-a-z]*' |
        tr -d ' ,'
    printf '%s\n' --help --version
}

# Files that end as one of the words behind the prefix, and folders.
_croft_files() {
    local prefix=$1 ending
    for ending in "${@:2}"; do
        compgen -f -X "!*.$ending" -- "$prefix"
    done
    compgen -d -- "$prefix"
}

# Kernels of the files that the command line names.
_croft_kernels() {
    local file
    for file in "${COMP_WORDS[@]}"; do
        [[ $file == *.croft && -r $file ]] && sed -n 's/^ *kernel  *\([A-Za-z_0-9]*\).*/\1/p' "$file"
    done
}

# Kernel files among the words before the one that is completed.
_croft_named() {
    local file
    for file in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $file == *.croft && -r $file ]] && printf '%s\n' "$file"
    done
}

# `NAME=` of each parameter and size in the signatures of these files.
_croft_parameters() {
    local signatures
    signatures=$(sed 's/#.*//' "$@" | tr '\n' ' ' | grep -oE 'kernel +[A-Za-z_0-9]+ *\([^{]*\{')
    {
        grep -oE '[(,] *[A-Za-z_][A-Za-z_0-9]* *:' <<<"$signatures" | tr -d '(,: '
        grep -oE '\[[^]]*\]' <<<"$signatures" | grep -oE '[A-Za-z_][A-Za-z_0-9]*' |
            grep -vx dynamic
    } | sed 's/$/=/'
}

# Values of an option: croft, option, prefix. False: the option has none.
_croft_values() {
    local words
    case $2 in
    --target) words='cpu cuda opencl metal reference sim' ;;
    --machine) words=$("$1" --help 2>/dev/null | sed -n 's/^machines: //p') ;;
    --level) words='tile mapped thread' ;;
    --format) words='text json svg html' ;;
    --model) words='analytic service cuda cpu' ;;
    --assume) words='nothing aligned begins spaced multiple all' ;;
    --element) words='f16 bf16 f32 f64 i8 i32 i64 u8 u32 bool' ;;
    --kernel) words=$(_croft_kernels) ;;
    -p | --passes | --print-after | --stop-after)
        words=$("$1" opt --list 2>/dev/null | sed -n 's/^\([a-z]*\) .*/\1/p') ;;
    --plan) compgen -W 'fallback row' -- "$3"; compgen -f -- "$3"; return 0 ;;
    -o | --output | --cost-model | --compiler | --opencl-library) compgen -f -- "$3"; return 0 ;;
    --set | --offset | --repeat | --tol | --seed | --threads | --width | --value) return 0 ;;
    *) return 1 ;;
    esac
    compgen -W "$words" -- "$3"
    return 0
}

# What is neither an option nor the value of one: command, prefix.
_croft_operands() {
    local named
    mapfile -t named < <(_croft_named)
    if ((${#named[@]})) && [[ $1 =~ ^(run|check|emit|plan|explain)$ ]]; then
        compgen -W "$(_croft_parameters "${named[@]}")" -- "$2"
        return
    fi
    case $1 in
    show) _croft_files "$2" npy ;;
    opt) _croft_files "$2" ir ;;
    run | check) _croft_files "$2" croft ir ;;
    emit | plan | explain) _croft_files "$2" croft ;;
    layout) compgen -W 'show compare convert' -- "$2" ;;
    cache) compgen -W 'ls verify gc' -- "$2" ;;
    esac
}

_croft() {
    local croft=${COMP_WORDS[0]} prefix=${COMP_WORDS[COMP_CWORD]} command= words i
    local before=${COMP_WORDS[COMP_CWORD - 1]}
    # `=` is a word of its own: --target=c, x=in.npy.
    if [[ $prefix == = ]]; then
        prefix=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -* ]] && command=${COMP_WORDS[i]} && break
    done
    if [[ $before == -* ]] && words=$(_croft_values "$croft" "$before" "$prefix"); then
        :
    elif [[ $prefix == -* ]]; then
        words=$(compgen -W "$(_croft_options "$croft")" -- "$prefix")
    elif [[ -z $command ]]; then
        words=$(compgen -W "$(_croft_commands "$croft")" -- "$prefix")
    elif [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        words=$(_croft_files "$prefix" npy
            compgen -W 'zeros: ones: const: arange: randn: uniform: randint: special: magnitudes:' \
                -- "$prefix")
    else
        words=$(_croft_operands "$command" "$prefix")
    fi
    # A value follows what ends so.
    [[ $words == *[=:] ]] && compopt -o nospace +o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(printf '%s' "${words:+$words$'\n'}" | sort -u)
}

complete -o filenames -F _croft croft
