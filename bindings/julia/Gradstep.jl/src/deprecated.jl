# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Names of earlier commits, which version 0.1 has for the last time. julia --depwarn=yes says where they are used.

"""Old names and new ones."""
const RENAMED = (:channel_statistics => :comm_statistics, :deltas! => :updates!, :duplicate => :dup, :gradient_norm => :norm,
                 :hyper_parameter => :get_value, :is_done => :poll, :library_version => :version,
                 :measured_costs => :measure_costs, :receive! => :recv!, :state => :get_state)

warn_of(old, new) = Base.depwarn("`$old` is deprecated, use `$new` instead.", Symbol(old))

for (old, new) in RENAMED
    @eval begin
        function $old(arguments...; options...)
            warn_of($(string(old)), $(string(new)))
            return $new(arguments...; options...)
        end
    end
    @eval export $old
end

function window(accumulator::Accumulator)
    warn_of("window", "count, weight and skipped")
    return (count = count(accumulator), weight = weight(accumulator), skipped = skipped(accumulator))
end
export window

function statistics(reducer::Reducer)
    warn_of("statistics(reducer)", "bucket_statistics(reducer)")
    return bucket_statistics(reducer)
end

function shard!(optimizer::Optimizer, ::Nothing; options...)
    warn_of("shard!(optimizer, nothing)", "unshard!(optimizer)")
    return unshard!(optimizer)
end
