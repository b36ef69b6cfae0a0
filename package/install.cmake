# What `cmake --install` puts where: the command, the header, both libraries, and what finds them.
#
#   bin/croft    include/croft{,_python,_torch}.h    lib/libcroft.{a,so}    lib/pkgconfig/croft.pc    lib/cmake/croft/
#   share/man/man1/croft.1    share/bash-completion/completions/croft
#   share/doc/croft/{README.md,LICENSE,docs/,examples/}    the pages with their links to each other
#
# Nothing installed names the folder that it is in: the whole can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(folder INCLUDEDIR LIBDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder} has to be relative to the prefix")
  endif()
endforeach()
set(CROFT_CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/croft)

install(TARGETS croft_shared croft_static EXPORT croft-targets
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT croft-targets NAMESPACE croft:: DESTINATION ${CROFT_CONFIG_FOLDER})
install(FILES include/croft.h include/croft_python.h include/croft_torch.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET croft)
  install(TARGETS croft)
  install(FILES docs/croft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES package/croft.bash RENAME croft
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.json")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.croft")

configure_package_config_file(package/croft-config.cmake.in package/croft-config.cmake
  INSTALL_DESTINATION ${CROFT_CONFIG_FOLDER} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/croft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/croft-config.cmake
  ${PROJECT_BINARY_DIR}/package/croft-config-version.cmake DESTINATION ${CROFT_CONFIG_FOLDER})

file(RELATIVE_PATH CROFT_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" CROFT_PREFIX_FROM_PC "${CROFT_PREFIX_FROM_PC}")
list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE CROFT_PRIVATE_LIBRARIES)
list(JOIN CROFT_PRIVATE_LIBRARIES " " CROFT_PRIVATE_LIBRARIES)
string(APPEND CROFT_PRIVATE_LIBRARIES " -lm -pthread")
configure_file(package/croft.pc.in package/croft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/croft.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
