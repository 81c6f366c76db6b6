# tune_add_plugin(<name> <source>...): a plugin of tune, <name>.so. One of its sources has
# TUNE_PLUGIN of <tune/plugin.hpp>.
function(tune_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE tune::tune)
  # Hidden, so that two plugins with a class of one name do not get into each other's way.
  set_target_properties(${name} PROPERTIES
    PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
